import { expect, test } from 'bun:test';
import { prometheusText } from '../../src/http/system-routes.ts';

test('metrics are written line by line, and characters that could break a line are escaped', () => {
  const text = prometheusText([
    {
      name: 'a_total',
      help: 'First\nand \\ second.',
      type: 'counter',
      labelNames: ['path', 'le'],
      samples: [
        { labels: ['say "x"\n\\', '+Inf'], value: 1.5 },
        { name: 'a_total_sum', labels: [], value: Number.POSITIVE_INFINITY },
      ],
    },
    { name: 'b', help: 'Nothing yet.', type: 'gauge', labelNames: [], samples: [] },
  ]);
  expect(text).toBe(
    [
      '# HELP a_total First\\nand \\\\ second.',
      '# TYPE a_total counter',
      'a_total{path="say \\"x\\"\\n\\\\",le="+Inf"} 1.5',
      'a_total_sum +Inf',
      '# HELP b Nothing yet.',
      '# TYPE b gauge',
      '',
    ].join('\n'),
  );
});
