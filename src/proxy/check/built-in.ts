/**
 * Public pages that show the address of their client, used if no judge is configured. Over TLS with a
 * verified certificate, any such page proves a proxy, whatever its format. Without TLS, only pages that
 * repeat the request can show what the proxy changed. Each page is asked directly before it is trusted, and
 * left out while it fails, changes, or refuses what others accept.
 */
export const BUILT_IN_JUDGES: readonly string[] = [
  'https://www.cloudflare.com/cdn-cgi/trace',
  'https://one.one.one.one/cdn-cgi/trace',
  'https://checkip.amazonaws.com/',
  'https://whatismyip.akamai.com/',
  'https://api.ipify.org/',
  'https://icanhazip.com/',
  'https://ident.me/',
  'https://ifconfig.co/json',
  'https://httpbin.org/get',
  'https://httpbingo.org/get',
  // httpbin hides `Via` and `X-Forwarded-*` unless asked for `show_env`.
  'http://httpbin.org/get?show_env=1',
  'http://azenv.net/',
  'http://httpheader.net/azenv.php',
  'http://www.wfuchs.de/azenv.php',
  'http://mojeip.net.pl/asdfa/azenv.php',
];

/** Files of old releases. Their archives never change them and serve ranges of them over plain HTTP. */
export const BUILT_IN_WITNESSES: readonly string[] = [
  'http://archive.debian.org/debian/dists/jessie/main/installer-amd64/current/images/netboot/netboot.tar.gz',
  'http://old-releases.ubuntu.com/releases/14.04.0/ubuntu-14.04-server-amd64.iso',
  'http://dl-cdn.alpinelinux.org/alpine/v3.10/releases/x86_64/alpine-standard-3.10.0-x86_64.iso',
  'http://mirrors.edge.kernel.org/pub/linux/kernel/v5.x/linux-5.4.tar.xz',
  'http://ftp.gnu.org/gnu/gcc/gcc-9.1.0/gcc-9.1.0.tar.xz',
  'http://archive.kernel.org/centos-vault/7.0.1406/isos/x86_64/CentOS-7.0-1406-x86_64-NetInstall.iso',
];

/** Maximum average rate of requests to each built-in page through proxies, because these pages are not ours. */
export const BUILT_IN_JUDGE_RATE = 10;
