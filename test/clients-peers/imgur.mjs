// Uploads a file as it is and as Base64 with the package imgur, and deletes both: node imgur.mjs HOST FILE BROKEN_FILE
import { createReadStream, readFileSync } from 'node:fs';
import { ImgurClient } from 'imgur';

const [host, file, broken] = process.argv.slice(2);
const client = new ImgurClient({ clientId: 'any', rapidApiKey: 'any', rapidApiHost: host });
const uploads = [
  await client.upload({ image: createReadStream(file), type: 'stream', title: 'As a file' }),
  await client.upload({ image: readFileSync(file, 'base64'), type: 'base64', title: 'As Base64' }),
];
const found = [];
const deleted = [];
for (const { data } of uploads) {
  found.push((await fetch(data.link)).status);
  deleted.push((await client.deleteImage(data.deletehash)).success);
}
const refused = await client.upload({ image: createReadStream(broken), type: 'stream' });
console.log(JSON.stringify({ found, deleted, success: refused.success, refusal: refused.data }));
