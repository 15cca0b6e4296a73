import type { Words } from '../en.ts';

export const api: Words['api'] = {
  title: 'API',
  summary: '本服务器的 API 文档，示例可以直接在页面上运行。',
  lead: (version) => `版本 ${version}。所有示例都针对本服务器运行。接口说明为英文。`,
  calls: '接口',
  token: '访问令牌',
  tokenHint: '仅保存在当前标签页。点击“发送”时会使用它；示例代码从 PICPOOL_TOKEN 读取。',
  errors: '错误',
  errorsAre:
    '所有错误都以 JSON 返回：给人看的说明、给程序用的错误码和请求 ID。收到 429 或 503 时，Retry-After 给出需要等待的秒数。',
  link: (name) => `${name} 的链接`,
  example: '示例',
  tryIt: '试一试',
  send: '发送',
  body: '请求体',
  places: { path: '路径', query: '查询参数', header: '请求头', cookie: 'Cookie', body: '请求体' },
  required: '必填',
  preset: (value) => `默认 \`${value}\``,
  responses: '响应',
  exampleOf: (status) => `响应 ${status} 的示例`,
};
