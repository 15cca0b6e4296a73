import type { Words } from '../words.ts';

export const api: Words['api'] = {
  title: 'API',
  summary: '本服务器的 API 文档，每个接口都有示例。',
  lead: (version) => `版本 ${version}。示例针对本服务器，大写部分需自行填写。接口说明为英文。`,
  calls: '接口',
  errors: '错误',
  errorsAre:
    '所有错误都以 JSON 返回：给人看的说明、给程序用的错误码和请求 ID。收到 429 或 503 时，Retry-After 给出需要等待的秒数。',
  link: (name) => `${name} 的链接`,
  example: '示例',
  places: { path: '路径', query: '查询参数', header: '请求头', cookie: 'Cookie', body: '请求体' },
  required: '必填',
  preset: (value) => `默认 \`${value}\``,
  responses: '响应',
  exampleOf: (status) => `响应 ${status} 的示例`,
};
