/**
 * Real clients through the gateway: a page, 100 MB and, where the client has it, a WebSocket. `bun bench/gateway/clients.ts FOLDER`: in
 * the folder are a Python `venv` with requests, httpx, scrapy and websockets, and an `undici` under `node_modules`; what is missing is
 * left out.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { createCertificates } from '../../test/support/certificates.ts';
import { startGatewayFarm } from '../../test/support/gateway/farm.ts';
import { startGateway } from './world.ts';

const SIZE = 100_000_000;
const LARGE = Buffer.alloc(SIZE, 'picpool');
const tools = process.argv[2] ?? '.';
const folder = await mkdtemp(join(tmpdir(), 'picpool-clients-'));
const certificates = await createCertificates();
const ca = join(folder, 'ca.pem');
await writeFile(ca, certificates.ca);

const options = {
  hostname: '127.0.0.1',
  port: 0,
  fetch(request: Request, server: { upgrade(request: Request): boolean }) {
    const { pathname } = new URL(request.url);
    if (pathname === '/ws' && server.upgrade(request)) return undefined;
    return new Response(pathname === '/large' ? LARGE : 'the page of the target');
  },
  websocket: {
    message(socket: { send(text: string | Buffer): void }, text: string | Buffer) {
      socket.send(text);
    },
  },
};
const http = Bun.serve(options);
const https = Bun.serve({ ...options, tls: certificates.good });
const farm = startGatewayFarm((address) =>
  address.endsWith('.1') ? 'hang' : address.endsWith('.2') ? 'reset' : 'http',
);
const list = join(folder, 'list.txt');
await writeFile(
  list,
  Array.from({ length: 9 }, (_, n) => `http://127.50.0.${n + 1}:${farm.port}`).join('\n'),
);
const gateway = await startGateway(list);
const proxy = `http://127.0.0.1:${gateway.port}`;
const socks = proxy.replace('http', 'socks5h');
const secure = `https://example.com:${https.port}`;
const plain = `http://example.com:${http.port}`;

function report(name: string, found: string): void {
  const good = found.trim().endsWith('ok');
  console.log(`${good ? 'ok  ' : 'MISS'} ${name}: ${found.trim().slice(-300)}`);
  if (!good) process.exitCode = 1;
}

async function run(name: string, command: string[], env: Record<string, string> = {}): Promise<void> {
  const program = command[0] ?? '';
  if (!(existsSync(program) || Bun.which(program))) {
    console.log(`--   ${name}: not there`);
    return;
  }
  const child = Bun.spawn(command, {
    stdout: 'pipe',
    stderr: 'pipe',
    cwd: tools,
    env: { ...process.env, ...env },
  });
  const [out, error] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  await child.exited;
  report(name, out.trim() || error);
}

for (const [name, way, url] of [
  ['curl, http', proxy, plain],
  ['curl, https', proxy, secure],
  ['curl, https over SOCKS', socks, secure],
] as const) {
  const script = `test "$(curl -sS --cacert ${ca} -x ${way} ${url}/)" = "the page of the target" && test "$(curl -sS --cacert ${ca} -x ${way} ${url}/large | wc -c)" = ${SIZE} && echo ok`;
  await run(name, ['/bin/sh', '-c', script]);
}

const python = join(tools, 'venv/bin/python');
const REQUESTS = `
import requests
p={'http':'${proxy}','https':'${proxy}'}
for u in ('${plain}','${secure}'):
    assert requests.get(u+'/',proxies=p,verify='${ca}').text=='the page of the target'
    assert len(requests.get(u+'/large',proxies=p,verify='${ca}').content)==${SIZE}
print('page, 100 MB: ok')`;
const HTTPX = `
import httpx,ssl
c=ssl.create_default_context(cafile='${ca}')
with httpx.Client(proxy='${proxy}',verify=c,timeout=60) as h:
    for u in ('${plain}','${secure}'):
        assert h.get(u+'/').text=='the page of the target'
        assert len(h.get(u+'/large').content)==${SIZE}
print('page, 100 MB: ok')`;
const SCRAPY = `
import scrapy,sys
from scrapy.crawler import CrawlerProcess
seen=[]
class S(scrapy.Spider):
    name='s'
    custom_settings={'LOG_LEVEL':'ERROR','DOWNLOAD_MAXSIZE':0,'DOWNLOAD_WARNSIZE':0,'TELNETCONSOLE_ENABLED':False,'ROBOTSTXT_OBEY':False}
    start_urls=['${plain}/','${secure}/','${plain}/large','${secure}/large']
    async def start(self):
        for u in self.start_urls: yield scrapy.Request(u,meta={'proxy':'${proxy}'})
    def parse(self,response): seen.append(len(response.body))
p=CrawlerProcess(); p.crawl(S); p.start()
assert sorted(seen)==[22,22,${SIZE},${SIZE}],seen
print('page, 100 MB: ok')`;
const WEBSOCKETS = `
import asyncio,ssl,websockets
async def main():
    c=ssl.create_default_context(cafile='${ca}')
    for u,s in (('${plain.replace('http', 'ws')}/ws',None),('${secure.replace('https', 'wss')}/ws',c)):
        async with websockets.connect(u,ssl=s,proxy='${proxy}') as w:
            await w.send('hello'); assert await w.recv()=='hello'
    print('WebSocket: ok')
asyncio.run(main())`;
await run('requests', [python, '-c', REQUESTS]);
await run('httpx', [python, '-c', HTTPX]);
await run('Scrapy', [python, '-c', SCRAPY]);
await run('websockets', [python, '-c', WEBSOCKETS]);

const UNDICI = `
const {ProxyAgent,request,WebSocket}=require('undici');
(async()=>{
 const dispatcher=new ProxyAgent({uri:'${proxy}',requestTls:{ca:require('fs').readFileSync('${ca}')}});
 for (const u of ['${plain}','${secure}']) {
  const page=await request(u+'/',{dispatcher}); if(await page.body.text()!=='the page of the target') throw 1;
  const large=await request(u+'/large',{dispatcher}); if((await large.body.arrayBuffer()).byteLength!==${SIZE}) throw 2;
 }
 const w=new WebSocket('${secure.replace('https', 'wss')}/ws',{dispatcher});
 await new Promise((r,j)=>{w.onopen=()=>w.send('hello');w.onmessage=(e)=>e.data==='hello'?r():j(e.data);w.onerror=j});
 console.log('page, 100 MB, WebSocket: ok'); process.exit();
})();`;
await run('undici', [existsSync(join(tools, 'node_modules/undici')) ? 'node' : 'no-undici', '-e', UNDICI]);

const GO = `package main
import ("fmt";"io";"net/http";"net/url";"crypto/tls";"crypto/x509";"os")
func main(){
 pem,_:=os.ReadFile("${ca}"); pool:=x509.NewCertPool(); pool.AppendCertsFromPEM(pem)
 p,_:=url.Parse("${proxy}")
 c:=&http.Client{Transport:&http.Transport{Proxy:http.ProxyURL(p),TLSClientConfig:&tls.Config{RootCAs:pool}}}
 for _,u:=range []string{"${plain}","${secure}"} {
  r,err:=c.Get(u+"/"); if err!=nil {panic(err)}; b,_:=io.ReadAll(r.Body); if string(b)!="the page of the target" {panic(string(b))}
  r,err=c.Get(u+"/large"); if err!=nil {panic(err)}; n,_:=io.Copy(io.Discard,r.Body); if n!=${SIZE} {panic(n)}
 }
 fmt.Println("page, 100 MB: ok")
}`;
await writeFile(join(folder, 'client.go'), GO);
await run('Go net/http', ['go', 'run', join(folder, 'client.go')], {
  GOFLAGS: '-mod=mod',
  HOME: process.env.HOME ?? '/root',
});

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox', '--ignore-certificate-errors', '--proxy-bypass-list=<-loopback>'],
  proxy: { server: proxy },
});
try {
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  const found: string[] = [];
  for (const url of [plain, secure]) {
    await page.goto(`${url}/`);
    if ((await page.textContent('body')) !== 'the page of the target') found.push(`${url}: another page`);
    const result = await page.evaluate(
      async ([size, socket]) => {
        const large = await (await fetch('/large')).arrayBuffer();
        const echo = await new Promise((resolve, reject) => {
          const one = new WebSocket(String(socket));
          one.onopen = () => one.send('hello');
          one.onmessage = (event) => resolve(event.data);
          one.onerror = () => reject(new Error('no WebSocket'));
        });
        return large.byteLength === size && echo === 'hello';
      },
      [SIZE, `${url.replace('http', 'ws')}/ws`] as const,
    );
    if (!result) found.push(`${url}: not whole`);
  }
  report("Playwright's Chromium", found.length === 0 ? 'page, 100 MB, WebSocket: ok' : found.join(', '));
} catch (error) {
  report("Playwright's Chromium", String(error));
} finally {
  await browser.close();
}
await gateway.stop();
farm.stop();
await rm(folder, { recursive: true });
process.exit();
