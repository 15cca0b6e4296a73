/** What a check found. */
export interface Findings {
  /** How many files, operations or tests it read. */
  read: number;
  /** Each with its place. */
  faults: string[];
}

/** How a step of the gate went. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
  /** How many of its `reads`. */
  read: number;
  /** The failed tests of a suite, which are shown at the end of a long log. */
  failures?: Failure[];
}

export interface Failure {
  file: string;
  name: string;
  /** The first lines of what it said. */
  reason: string[];
}

export interface Step {
  /** What it reads: files, operations or tests. */
  reads: string;
  /** A step that reads fewer has lost sight of the project, and fails. */
  least: number;
  /** Writes what it and its programs say to the file descriptor. Suites can be limited to some of their files. */
  run(out: number, files?: readonly string[]): Promise<Counts>;
}
