export type Protocol = 'http' | 'https' | 'socks4' | 'socks5';
export type ImageFormat = 'webp' | 'jpeg' | 'png' | 'avif' | 'gif';

/** A proxy in lists. Times are UTC, `YYYY-MM-DD HH:MM:SS`. */
export interface PoolProxy {
  id: number;
  ip: string;
  port: number;
  protocol: Protocol;
  /** `ZZ` if unknown. */
  country: string;
  /** Response time of the last successful check, in ms. */
  response_time: number;
  last_checked: string;
  status: 'alive' | 'dead';
  source: string;
  anonymity: 'transparent' | 'anonymous' | 'elite' | null;
  /** The address that targets see. */
  exit_ip: string | null;
  /** What proved it: an `echoed` proxy could have made up its answer. */
  proof: 'tls' | 'signed' | 'relayed' | 'echoed' | null;
  tampering: string[] | null;
  /** Known share of time alive over 24 h, 0 to 1. */
  uptime: number | null;
  /** The score for sorting, 0 to 1. */
  score: number;
  checks: number;
  successes: number;
  first_seen: string;
  last_alive: string | null;
  error: string | null;
  /** `***` if it asks for a login. */
  login: string | null;
  /** Up to 30 latest checks, oldest first: `1` passed, `0` failed. */
  recent_checks: string;
}

/** A proxy by its ID. */
export interface ProxyDetails extends PoolProxy {
  /** The last 20 reports, newest first, for the administrator. */
  reports?: { at: string; ok: boolean; target: string | null; error: string | null }[];
}

/** Selects proxies. Several values mean any of them; an empty array does not filter. */
export interface ProxyFilter {
  protocol?: Protocol | Protocol[];
  country?: string | string[];
  exclude_country?: string | string[];
  port?: number | number[];
  status?: 'alive' | 'dead';
  anonymity?: 'transparent' | 'anonymous' | 'elite';
  tampering?: 'none' | 'some';
  proof?: 'tls' | 'signed' | 'relayed' | 'echoed';
  min_proof?: 'tls' | 'signed' | 'relayed' | 'echoed';
  login?: 'none' | 'needed';
  source?: string;
  max_latency_ms?: number;
  /** Checked within this many seconds. */
  max_age?: number;
  min_uptime?: number;
  min_score?: number;
  unique?: 'exit_ip';
  /** Puts proxies most likely to reach this site first. */
  target?: string;
  sort?: 'dependable' | 'response_time' | 'last_checked' | 'first_seen';
  random?: boolean;
}

/** The result of a test. */
export interface TestResult {
  success: true;
  alive: boolean;
  status: 'alive' | 'dead';
  /** In ms, as the others: of the whole test, until it was connected, until the first byte. */
  response_time: number | null;
  connect_time: number | null;
  first_byte_time: number | null;
  country: string;
  anonymity: string | null;
  exit_ip: string | null;
  tampering: string[] | null;
  proof: string | null;
  error: string | null;
}

/** Whether a proxy worked for its user. */
export interface Report {
  ok: boolean;
  /** The site that you tried to reach. */
  target?: string;
  error?: string;
}

/** How an exit of the gateway did at a site. Names the exit by a session, its address, or the ID of a proxy. */
export interface GatewayReport {
  session?: string;
  exit?: string;
  id?: number;
  /** The host of the site. */
  target: string;
  ok: boolean;
  error?: string;
  /** How long to leave it out, such as `15m`. */
  rest?: string;
}

export interface GatewayReported {
  success: true;
  /** Whether the report was counted. */
  counted: boolean;
  /** Why not. */
  reason?: string;
  /** The exit that was meant. */
  exit?: string;
  /** For how long it is left out. */
  rest_seconds?: number;
  /** Whether it is left out for all accounts. */
  for_all?: boolean;
  /** Whether the session gets another exit. */
  moved?: boolean;
}

/** A refresh of the pool. */
export interface RefreshJob {
  id: string;
  state: 'idle' | 'running' | 'done' | 'failed';
  stage: string | null;
  error: string | null;
  fetched: number;
  candidates: number;
  checked: number;
  alive: number;
  skipped: number;
  removed: number;
  judge: 'unknown' | 'up' | 'down';
  /** Failed ones in a row. */
  failures: number;
  retry_at: string | null;
  started_at: string | null;
  finished_at: string | null;
}

/** A picture. Times are UTC, `YYYY-MM-DD HH:MM:SS`. */
export interface StoredImage {
  id: string;
  filename: string;
  /** Shown in place of the file name. Older servers have none. */
  title?: string | null;
  /** What it shows; `null`: the file name stands for it. */
  alt?: string | null;
  format: ImageFormat;
  width: number;
  height: number;
  /** 1 for a still picture. */
  frames: number;
  /** Bytes of the stored file. */
  size: number;
  created_at: string;
  /** Its page. */
  url: string;
  /** The file. */
  raw_url: string;
}

/** A picture in lists. */
export interface ListedImage extends StoredImage {
  /** A blurred preview, as a ThumbHash in Base64. */
  thumbhash: string | null;
  last_access: string;
}

/** What links to a picture, who can see it, and how the uploaded file was changed. */
interface Described {
  markdown: string;
  html: string;
  bbcode: string;
  protected: boolean;
  visibility: 'public' | 'unlisted' | 'protected';
  /** `never`, or `null`: deleted once nobody has opened it for a long time. */
  expires_at: string | null;
  max_views: number | null;
  views_left: number | null;
  /** Whether the stored file says where the picture was taken. */
  location: boolean;
  /** The uploaded file. `kept`: stored as it was, without metadata. */
  original: {
    format: string;
    size: number;
    width: number;
    height: number;
    kept: boolean;
    quality: number | null;
  } | null;
  /** What the stored file has lost. `resized` and `larger` say what it was, and is. */
  warnings: { code: string; message: string; from?: Extent; to?: Extent }[];
}
type Extent = { width: number; height: number } | { bytes: number };

export interface ImageInfo extends ListedImage, Described {}

export interface Uploaded extends StoredImage, Described {
  /** Present if a person looks at it first: until then, its links do not work. */
  review?: true;
  /** ID of the album that contains it. */
  album?: string;
  /** Deletes the picture from any address. Returned only here. */
  delete_token: string;
  delete_url: string;
  /** What was removed from the file. */
  removed: ('location' | 'metadata')[];
}
