import { expect, test } from 'bun:test';
import { RequestFacts } from '../../src/http/request-facts.ts';

test('what is logged about a request reads the same as JSON, whatever the client put into it', () => {
  const odd = ['/', '/a"b', '/a\\b', '/\u2028', '/\u0000\n', '/%22', '/ü😀', `/${'long'.repeat(100)}"`];
  for (const path of odd) {
    for (const peer of ['192.0.2.1', 'fe80::1%eth0', '']) {
      const request = new Request('http://localhost/', { method: 'PATCH' });
      const facts = new RequestFacts({ request, path, context: { id: 'a.b-1', peer } }, 404, 1.6);
      const plain = { request_id: 'a.b-1', method: 'PATCH', path, status: 404, ms: 2, peer };
      expect(facts.plain()).toEqual(plain);
      expect(JSON.parse(`{${facts.members()}}`)).toEqual(plain);
      expect(JSON.stringify(facts.plain())).toBe(`{${facts.members()}}`);
    }
  }
});
