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

/** Selects proxies. Several values mean any of them. */
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
  response_time: number;
  country: string;
  anonymity: string | null;
  exit_ip: string | null;
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
}

/** A picture in lists. */
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

export interface ImageInfo extends StoredImage {
  markdown: string;
  html: string;
  bbcode: string;
  protected: boolean;
  last_access: string;
}

export interface Uploaded extends StoredImage {
  markdown: string;
  html: string;
  bbcode: string;
  protected: boolean;
  /** Deletes the picture from any address. Returned only here. */
  delete_token: string;
  delete_url: string;
}
