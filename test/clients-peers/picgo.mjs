// Uploads files with the core of PicGo, as its window does, and deletes them there again: node picgo.mjs CONFIG FILE...
import { PicGo } from 'picgo';

const [config, ...files] = process.argv.slice(2);
const picgo = new PicGo(config);
const said = [];
picgo.on('notification', ({ title, body }) => said.push([title, body].join(' ')));
const uploaded = await picgo.upload(files);
if (uploaded instanceof Error) throw uploaded;
const links = uploaded.map(({ imgUrl }) => imgUrl);
const found = await Promise.all(links.map(async (link) => (await fetch(link)).status));
for (const listener of picgo.listeners('remove')) {
  // The plugin parses the answer, which this version of PicGo has parsed before: it falls over once the picture is deleted.
  await listener(uploaded, {}).catch((error) => said.push(error.message));
}
const left = await Promise.all(links.map(async (link) => (await fetch(link)).status));
console.log(JSON.stringify({ links, found, left, said }));
