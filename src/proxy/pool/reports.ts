/** A user's report about a proxy. */
interface Report {
  /** Ms since 1970. */
  at: number;
  ok: boolean;
  /** Host that the user wanted to reach, if given. */
  target: string | null;
  error: string | null;
}

/** Maximum number of reports kept for a proxy. */
const MOST = 20;
const LONGEST_ERROR = 200;

/** Returns the reports of a record, oldest first. */
export function reportsOf({ reports }: { reports: string | null }): Report[] {
  return reports === null ? [] : (JSON.parse(reports) as Report[]);
}

/** Returns the field of a record with one more report. */
export function withReport(record: { reports: string | null }, report: Report): string {
  const error = report.error?.slice(0, LONGEST_ERROR) ?? null;
  return JSON.stringify([...reportsOf(record), { ...report, error }].slice(-MOST));
}
