/** What users said of a proxy. */
export interface Report {
  /** Ms since 1970. */
  at: number;
  ok: boolean;
  /** Host that they wanted to reach, if they said so. */
  target: string | null;
  error: string | null;
}

/** Older ones are forgotten. */
const MOST = 20;
const LONGEST_ERROR = 200;

/** The reports of a record, oldest first. */
export function reportsOf({ reports }: { reports: string | null }): Report[] {
  return reports === null ? [] : (JSON.parse(reports) as Report[]);
}

/** The field of a record with one more report. */
export function withReport(record: { reports: string | null }, report: Report): string {
  const error = report.error?.slice(0, LONGEST_ERROR) ?? null;
  return JSON.stringify([...reportsOf(record), { ...report, error }].slice(-MOST));
}

/** The host of a target, which may be a URL, `host:port` or a host; `null` if there is none in it. */
export function hostOfTarget(target: string | undefined): string | null {
  const text = target?.trim() ?? '';
  if (text === '') return null;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  return URL.canParse(url) ? new URL(url).hostname.slice(0, 253) || null : null;
}
