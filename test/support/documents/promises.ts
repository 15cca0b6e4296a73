/** What a command of a document does, as far as the document does not print it. */
export interface Promised {
  command: RegExp;
  /** What it prints, or writes into a new file; `<id>` is that of the last upload. */
  shows?: RegExp;
  /** Ctrl-C ends the command once it has printed what it promises. */
  endless?: true;
  /** Where the command works from: another address than that of the uploads (`elsewhere`), or not from there (`here`). */
  from?: 'elsewhere' | 'here';
  /** Why it is not run. */
  notRun?: string;
}

const PROXY_LINES = /^((https?|socks[45]):\/\/[\d.]+:\d+\n)+$/;
const DELETED = /^\{"success":true,"id":"<id>"\}\n?$/;
const NEEDS_RELEASE = 'it needs a release; test/unit/signed-release.test.ts verifies one that it makes';

/** For each command under which its document prints nothing, and each that is not run. The first that fits counts. */
export const PROMISES: readonly Promised[] = [
  // What is not run.
  {
    command: /^podman build\b/,
    notRun: 'it fetches from two registries; scripts/container-test builds the image and runs it without',
  },
  { command: /^(flameshot|scrot) /, notRun: 'it needs a screen' },
  { command: /^sh -c 'for f;/, notRun: 'Typora appends the files; test/api/client-requests.test.ts does so' },
  {
    command: /^curl .*=TOKEN /,
    notRun: 'the token is in a header of the response before; test/api/image-clients.test.ts deletes so',
  },
  {
    command: /img\.example\/api\/upload/,
    notRun: 'the host is only an example; test/e2e/tokens.test.ts uploads with a token',
  },
  { command: /^(scripts\/verify-release|ssh-keygen -Y verify|sha256sum --check) /, notRun: NEEDS_RELEASE },
  { command: /^echo "picpool \$\(cat keys\.pub\)"/, notRun: NEEDS_RELEASE },
  {
    command: /^picpool (backup|restore) /,
    notRun: 'it needs a place for backups; test/faults/backup-drill.test.ts runs both',
  },
  {
    command: /^rm -f picpool\.db-wal /,
    notRun:
      'it needs a copy of an older version; test/adapters/sqlite-upgrade.suite.ts makes one and opens it',
  },
  // The pool.
  { command: /-X POST \S+\/api\/refresh$/, shows: /"state":"(running|done)"/ },
  { command: /\/api\/refresh\/events$/, shows: /^data: \{[^[]*"state":"done"/m, endless: true },
  { command: /\/api\/gateway\/report /, shows: /"counted":(true|false)/ },
  { command: /^curl -x /, shows: /^(?![\s\S]*"success":false)[\s\S]/ },
  { command: /protocol=socks5&format=text'/, shows: /^([\d.]+:\d+\n)+$/ },
  { command: /-OJ \S+\/api\/export$/, shows: PROXY_LINES },
  { command: /^picpool check (my-)?proxies\.txt > /, shows: PROXY_LINES },
  { command: /jq -r \.exit_ip/, shows: /^([\d.]+\n)+$/ },
  { command: /^picpool export/, shows: /^(socks5:\/\/\S+\n)+$/ },
  // Images.
  {
    command: /format=avif&max_width=640&filename=harbour\.jpg/,
    shows: /"filename":"harbour\.jpg",.*"format":"avif","width":640,/,
  },
  { command: /-F password=tea/, shows: /"protected":true/ },
  { command: /X-Image-Password: tea/, shows: /^RIFF.{4}WEBP/s },
  {
    command: /-F visibility=unlisted -F expires_in=7d/,
    shows: /"visibility":"unlisted","expires_at":"/,
  },
  { command: /-F max_views=1 /, shows: /"views_left":1,/ },
  {
    command: /-F image=@IMG_2041\.jpg \S+\/api\/upload$/,
    shows: /"markdown".*"html".*"bbcode".*"delete_token"/,
  },
  { command: /-X PATCH \S+\/api\/image\//, shows: /"expires_at":"/ },
  { command: /search\?q=trip/, shows: /"success":true/ },
  { command: /search\?q=HARB/, shows: /"images":\[\{[^}]*"filename":"harbour\.jpg"/ },
  { command: /# from the address that uploaded it$/, shows: DELETED, from: 'here' },
  { command: /# from anywhere$/, shows: DELETED, from: 'elsewhere' },
  { command: /^picpool upload --print markdown/, shows: /^(!\[\w+\.png\]\(http\S+\.webp\)\n){2}$/ },
  { command: /^picpool delete /, shows: /^<id>\n$/ },
  { command: /(catbox\/\S+\/api\.php|\/0x0)$/, shows: /^http:\/\/\S+\/i\/\w+\.webp\n?$/ },
  // Albums.
  { command: /-F album=<album> /, shows: /"album":"\w/ },
  {
    command: /\/invites|image=delete/,
    notRun: 'the album is deleted above; test/api/album-guests.test.ts calls it',
  },
  {
    command: /^picpool log/,
    notRun: 'nobody has moderated here; test/e2e/backup.test.ts prints a log',
  },
  { command: /^curl \S+\/api\/albums\/<album>$/, shows: /"images":\[\{[^}]*"id":"<id>"/ },
  { command: /-OJ \S+\/a\/<album>\.zip$/, shows: /^PK.*01 IMG_2041\.webp/s },
  { command: /-X PATCH \S+\/api\/albums\/<album> /, shows: /"title":"Harbour",.*"visibility":"unlisted"/ },
  { command: /\/api\/albums\/<album>\/images -H /, shows: /"total":1\b/ },
  { command: /-X DELETE \S+\/images\/<id> /, shows: /"total":0\b/ },
  { command: /-X DELETE \S+\/api\/albums\/<album> /, shows: /"removed_images":0\b/ },
  // The server.
  { command: /^picpool refresh; picpool cleanup/, shows: /\S/ },
  { command: /^picpool token create laptop/, shows: /^picpool_[\w-]{43}\n$/ },
  { command: /^picpool keys rotate/, shows: /^cookie-secret: .*\njudge-secret: / },
  { command: /^picpool config; picpool doctor/, shows: /PUBLIC_URL[\s\S]*record store/ },
];

/** Returns what is promised of a command. */
export function promiseOf(command: string): Promised {
  return PROMISES.find((promise) => promise.command.test(command)) ?? { command: /^/ };
}
