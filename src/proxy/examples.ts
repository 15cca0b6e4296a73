/** Examples for the API description. */
export const proxyExample = {
  id: 4711,
  ip: '203.0.113.9',
  port: 8080,
  protocol: 'http',
  country: 'DE',
  response_time: 412,
  last_checked: '2026-01-31 08:05:09',
  status: 'alive',
  source: 'example-list',
  anonymity: 'elite',
  exit_ip: '203.0.113.9',
  proof: 'relayed',
  tampering: [],
  uptime: 0.973,
  score: 0.968,
  checks: 118,
  successes: 116,
  first_seen: '2026-01-29 06:00:41',
  last_alive: '2026-01-31 08:05:09',
  error: null,
  login: null,
  recent_checks: '111111111111110111111111111111',
};

export const jobExample = {
  id: 'mkvxq3b2a1c9',
  state: 'running',
  stage: 'verify',
  error: null,
  fetched: 81_230,
  candidates: 36_014,
  checked: 12_790,
  alive: 611,
  skipped: 0,
  removed: 0,
  judge: 'up',
  failures: 0,
  retry_at: null,
  started_at: '2026-01-31 08:00:00',
  finished_at: null,
};

export const sourceProgressExample = {
  name: 'example-list',
  state: 'done',
  found: 9120,
  fresh: 402,
  checked: 390,
  alive: 31,
  error: null,
  yield: 0.071,
  paused_until: null,
};

export const sourceExample = {
  name: 'example-list',
  protocol: 'http',
  found: 9120,
  fresh: 402,
  checked: 20_390,
  alive: 1448,
  yield: 0.071,
  failures: 0,
  last_read: '2026-01-31 08:00:02',
  last_error: null,
  paused_until: null,
};

export const statsExample = { alive: 1203, total: 48_210, avg_response_time: 873.41, countries: 71 };
