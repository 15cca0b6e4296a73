/** One line of output: the values of the labels, in their order, and the number. */
export interface Sample {
  /** Name of the line if it is not that of the family: `..._bucket`. */
  name?: string;
  labels: readonly string[];
  value: number;
}

/** All that is known under one name. */
export interface Family {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  labelNames: readonly string[];
  samples: Sample[];
}

/**
 * The numbers of the process. Counting costs some nanoseconds. Names and units follow the conventions of Prometheus. The values of a label must be few.
 */
export interface Metrics {
  /** A number that only grows; answers the counter of given label values. */
  counter(name: string, help: string, labelNames?: readonly string[]): (...labels: string[]) => Counter;
  /** How values (in seconds, unless the name says otherwise) are distributed. */
  histogram(options: HistogramOptions): (...labels: string[]) => Histogram;
  /** A number that is looked up when it is asked for. Unavailable ones are left out. */
  gauge(options: GaugeOptions): void;
  /** All of them, in the order in which they were made. */
  collect(): Promise<Family[]>;
}

export interface Counter {
  inc(by?: number): void;
}

export interface Histogram {
  observe(value: number): void;
}

export interface HistogramOptions {
  name: string;
  help: string;
  labelNames?: readonly string[];
  /** Upper bounds, ascending. */
  buckets: readonly number[];
}

export interface GaugeOptions {
  name: string;
  help: string;
  labelNames?: readonly string[];
  /** `counter` for totals that are counted elsewhere. */
  type?: 'gauge' | 'counter';
  read: () => Sample[] | Promise<Sample[]>;
}

type Collect = () => Promise<Family> | Family;

/** Starts with nothing counted. */
export function createMetrics(): Metrics {
  const collectors: Collect[] = [];
  return {
    counter(name, help, labelNames = []) {
      const series = createSeries(() => createTotal());
      collectors.push(() => ({
        name,
        help,
        type: 'counter',
        labelNames,
        samples: series.map((labels, total) => [{ labels, value: total.value() }]),
      }));
      return series.of;
    },

    histogram({ name, help, labelNames = [], buckets }) {
      const series = createSeries(() => createDistribution(buckets));
      collectors.push(() => ({
        name,
        help,
        type: 'histogram',
        labelNames: [...labelNames, 'le'],
        samples: series.map((labels, distribution) => distribution.samples(name, labels)),
      }));
      return series.of;
    },

    gauge({ name, help, labelNames = [], type = 'gauge', read }) {
      collectors.push(async () => ({ name, help, type, labelNames, samples: await read() }));
    },

    async collect() {
      const collected = await Promise.allSettled(collectors.map(async (one) => one()));
      return collected.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    },
  };
}

/** One value for each combination of labels that has occurred. */
function createSeries<T>(make: () => T) {
  const values = new Map<string, { labels: string[]; value: T }>();
  return {
    of(...labels: string[]): T {
      const key = labels.join('\n');
      let found = values.get(key);
      if (!found) {
        found = { labels, value: make() };
        values.set(key, found);
      }
      return found.value;
    },
    map<R>(render: (labels: string[], value: T) => R[]): R[] {
      return [...values.values()].flatMap(({ labels, value }) => render(labels, value));
    },
  };
}

function createTotal() {
  let total = 0;
  return {
    inc(by = 1) {
      total += by;
    },
    value: () => total,
  };
}

function createDistribution(buckets: readonly number[]) {
  const counts = new Float64Array(buckets.length + 1);
  let sum = 0;
  return {
    observe(value: number) {
      let place = 0;
      while (place < buckets.length && value > (buckets[place] ?? 0)) place++;
      counts[place] = (counts[place] ?? 0) + 1;
      sum += value;
    },
    samples(name: string, labels: readonly string[]): Sample[] {
      let below = 0;
      const bounds = [...buckets.map(String), '+Inf'];
      const lines = bounds.map((bound, place): Sample => {
        below += counts[place] ?? 0;
        return { name: `${name}_bucket`, labels: [...labels, bound], value: below };
      });
      lines.push({ name: `${name}_sum`, labels, value: sum });
      lines.push({ name: `${name}_count`, labels, value: below });
      return lines;
    },
  };
}
