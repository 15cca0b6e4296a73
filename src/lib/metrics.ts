/** One line of output: the values of the labels, in order, and the number. */
export interface Sample {
  /** Name of the line if it differs from the family: `..._bucket`. */
  name?: string;
  labels: readonly string[];
  value: number;
}

/** All samples of one name. */
export interface Family {
  name: string;
  help: string;
  type: 'counter' | 'gauge' | 'histogram';
  labelNames: readonly string[];
  samples: Sample[];
}

/** A number that is read on demand: the values of the labels, in order, and the number. */
export type Reading = readonly [...labels: string[], value: number];

type Collect = () => Promise<Family> | Family;

/** Creates metrics with nothing counted. */
export function createMetrics() {
  const collectors: Collect[] = [];
  return {
    /** A number that only grows. Returns a function that returns the counter for label values. */
    counter(name: string, help: string, labelNames: readonly string[] = []) {
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

    /** The distribution of values, in seconds unless the name says otherwise. `buckets`: upper bounds, ascending. */
    histogram(name: string, help: string, labelNames: readonly string[], buckets: readonly number[]) {
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

    /** Numbers that are read on demand. Unavailable ones are left out. */
    gauge(
      name: string,
      help: string,
      labelNames: readonly string[],
      read: () => Reading[] | Promise<Reading[]>,
    ): void {
      const sampleOf = (reading: Reading) => ({
        labels: reading.slice(0, -1).map(String),
        value: Number(reading.at(-1)),
      });
      collectors.push(async () => ({
        ...{ name, help, type: 'gauge', labelNames },
        samples: (await read()).map(sampleOf),
      }));
    },

    /** One such number, without labels: a counter if its name ends in `_total`. `null`: it is left out. */
    value(name: string, help: string, read: () => number | null | Promise<number | null>): void {
      const type = name.endsWith('_total') ? 'counter' : 'gauge';
      collectors.push(async () => {
        const value = await read();
        return { name, help, type, labelNames: [], samples: value === null ? [] : [{ labels: [], value }] };
      });
    },

    /** Returns all families in the order of their creation. */
    async collect(): Promise<Family[]> {
      const collected = await Promise.allSettled(collectors.map(async (one) => one()));
      return collected.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    },
  };
}

/**
 * The metrics of the process. Counting costs some nanoseconds. Names and units follow the Prometheus conventions. A
 * label must have few values.
 */
export type Metrics = ReturnType<typeof createMetrics>;

export type Histogram = ReturnType<typeof createDistribution>;

/** Keeps one value for each combination of labels that has occurred. */
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
