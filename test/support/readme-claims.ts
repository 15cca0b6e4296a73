import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { zipFiles } from './album-sights.ts';

/** What an upload has answered, as far as later commands need it. */
export interface Upload {
  id: string;
  delete_token: string;
}

/** What a command has done. */
export interface Done {
  stdout: string;
  /** The folder it ran in. */
  folder: string;
  /** The last upload that stands. */
  upload: Upload | undefined;
}

/** What the README says in words that a command does. */
export interface Claim {
  command: RegExp;
  says: string;
  /** The same command from another address is refused. */
  refusedElsewhere?: true;
  /** It is run from another address than the uploads. */
  fromElsewhere?: true;
  holds(done: Done): boolean | Promise<boolean>;
}

const PROXY_LINES = /^((https?|socks[45]):\/\/[\d.]+:\d+\n)+$/;
const deleted = ({ stdout, upload }: Done) =>
  JSON.stringify(JSON.parse(stdout)) === JSON.stringify({ success: true, id: upload?.id });
const field = (stdout: string, name: string): unknown => JSON.parse(stdout)[name];

/** One for each command under which the README prints nothing. */
export const CLAIMS: readonly Claim[] = [
  {
    command: /-X POST \S+\/api\/refresh$/,
    says: 'starts a refresh',
    holds: ({ stdout }) => /"state":"(running|done)"/.test(stdout),
  },
  {
    command: /\/api\/refresh\/events$/,
    says: 'shows the refresh until it ends',
    holds: ({ stdout }) => /^data: \{.*"state":"done"/m.test(stdout),
  },
  {
    command: /^curl -x /,
    says: 'opens a page through a proxy of the pool',
    holds: ({ stdout }) => stdout.length > 0 && !stdout.includes('"success":false'),
  },
  {
    command: /protocol=socks5&format=text'/,
    says: 'lists proxies of that protocol, one a line',
    holds: ({ stdout }) => /^([\d.]+:\d+\n)+$/.test(stdout),
  },
  {
    command: /-OJ \S+\/api\/export$/,
    says: 'writes a file of proxies',
    holds: async ({ folder }) => PROXY_LINES.test(await readFile(join(folder, 'proxies.txt'), 'utf8')),
  },
  {
    command: /format=avif&max_width=640&filename=harbour\.jpg/,
    says: 'the options of the query hold',
    holds: ({ stdout }) =>
      field(stdout, 'format') === 'avif' &&
      field(stdout, 'width') === 640 &&
      field(stdout, 'filename') === 'harbour.jpg',
  },
  {
    command: /-F password=tea/,
    says: 'stores a protected image',
    holds: ({ stdout }) => field(stdout, 'protected') === true,
  },
  {
    command: /X-Image-Password: tea/,
    says: 'the password opens the image',
    async holds({ folder }) {
      const bytes = await readFile(join(folder, 'tea.webp'));
      return bytes.subarray(0, 4).equals(Buffer.from('RIFF')) && bytes.includes('WEBP');
    },
  },
  {
    command: /-F visibility=unlisted -F expires_in=7d/,
    says: 'stores an unlisted image that expires',
    holds: ({ stdout }) =>
      field(stdout, 'visibility') === 'unlisted' && typeof field(stdout, 'expires_at') === 'string',
  },
  {
    command: /-F max_views=1 /,
    says: 'stores an image that is shown once',
    holds: ({ stdout }) => field(stdout, 'views_left') === 1,
  },
  {
    command: /-F album=<album> /,
    says: 'puts the upload into the album',
    holds: ({ stdout }) => typeof field(stdout, 'album') === 'string',
  },
  {
    command: /^curl \S+\/api\/albums\/<album>$/,
    says: 'lists the pictures of the album',
    holds: ({ stdout, upload }) => JSON.parse(stdout).images[0].id === upload?.id,
  },
  {
    command: /-OJ \S+\/a\/<album>\.zip$/,
    says: 'writes the pictures into a file named like the album',
    holds: async ({ folder }) =>
      zipFiles(await readFile(join(folder, 'Harbour in winter.zip'))).has('01 IMG_2041.webp'),
  },
  {
    command: /-X PATCH \S+\/api\/albums\/<album> /,
    says: 'changes title and visibility',
    holds: ({ stdout }) => field(stdout, 'title') === 'Harbour' && field(stdout, 'visibility') === 'unlisted',
  },
  {
    command: /\/api\/albums\/<album>\/images -H /,
    says: 'adds a picture, once',
    holds: ({ stdout }) => field(stdout, 'total') === 1,
  },
  {
    command: /-X DELETE \S+\/images\/<id> /,
    says: 'takes it out',
    holds: ({ stdout }) => field(stdout, 'total') === 0,
  },
  {
    command: /-X DELETE \S+\/api\/albums\/<album> /,
    says: 'deletes the album alone',
    holds: ({ stdout }) => field(stdout, 'removed_images') === 0,
  },
  {
    command: /-X PATCH \S+\/api\/image\//,
    says: 'puts the end of the image off',
    holds: ({ stdout }) => typeof field(stdout, 'expires_at') === 'string',
  },
  {
    command: /search\?q=HARB/,
    says: 'finds the image by a part of its name',
    holds: ({ stdout }) => JSON.parse(stdout).images[0].filename === 'harbour.jpg',
  },
  {
    command: /# from the address that uploaded it$/,
    says: 'deletes from that address alone',
    refusedElsewhere: true,
    holds: deleted,
  },
  { command: /# from anywhere$/, says: 'deletes from anywhere', fromElsewhere: true, holds: deleted },
  {
    command: /^picpool check my-proxies\.txt > working\.txt/,
    says: 'writes what works of the list',
    holds: async ({ folder }) => PROXY_LINES.test(await readFile(join(folder, 'working.txt'), 'utf8')),
  },
  {
    command: /-F image=@IMG_2041\.jpg \S+\/api\/upload$/,
    says: 'answers links and the token',
    holds: ({ stdout }) =>
      ['markdown', 'html', 'bbcode', 'delete_token'].every((name) => typeof field(stdout, name) === 'string'),
  },
  {
    command: /(catbox\/\S+\/api\.php|\/0x0)$/,
    says: 'prints the link alone',
    holds: ({ stdout }) => /^http:\/\/\S+\/i\/\w+\.webp\n?$/.test(stdout),
  },
  {
    command: /^picpool check proxies\.txt > tested\.txt/,
    says: 'writes the working',
    holds: async ({ folder }) => PROXY_LINES.test(await readFile(join(folder, 'tested.txt'), 'utf8')),
  },
  {
    command: /jq -r \.exit_ip/,
    says: 'prints addresses',
    holds: ({ stdout }) => /^([\d.]+\n)+$/.test(stdout),
  },
  {
    command: /^picpool export/,
    says: 'prints proxies of that protocol',
    holds: ({ stdout }) => /^(socks5:\/\/\S+\n)+$/.test(stdout),
  },
  {
    command: /^picpool upload --print markdown/,
    says: 'prints a snippet for each picture',
    holds: ({ stdout }) => /^(!\[\w+\.png\]\(http\S+\.webp\)\n){2}$/.test(stdout),
  },
  {
    command: /^picpool delete /,
    says: 'prints the id of what is gone',
    holds: ({ stdout, upload }) => stdout === `${upload?.id}\n`,
  },
  {
    command: /^picpool refresh; picpool cleanup/,
    says: 'says how many were removed',
    holds: ({ stdout }) => stdout !== '',
  },
  {
    command: /^picpool token create laptop/,
    says: 'prints a token',
    holds: ({ stdout }) => /^picpool_[\w-]{43}\n$/.test(stdout),
  },
  {
    command: /^picpool keys rotate/,
    says: 'says from when on the new keys sign',
    holds: ({ stdout }) => /^cookie-secret: .*\njudge-secret: /.test(stdout),
  },
  {
    command: /^picpool config; picpool doctor/,
    says: 'shows the settings and what is wrong',
    holds: ({ stdout }) => /PUBLIC_URL/.test(stdout) && /record store/.test(stdout),
  },
];

export function claimOf(command: string): Claim | undefined {
  return CLAIMS.find((claim) => claim.command.test(command));
}
