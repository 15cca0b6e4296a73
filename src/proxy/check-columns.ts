/** The columns of CSV that a check of a proxy fills; an export of the pool has more. */
export const CHECK_COLUMNS = [
  'protocol',
  'ip',
  'port',
  'country',
  'response_time',
  'anonymity',
  'exit_ip',
  'tampering',
  'proof',
] as const;
