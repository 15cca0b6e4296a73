import type { ErrorCode } from '../../../errors.ts';
import type { Template } from '../zh-cn/messages.ts';

/** The heading of an error page, and what to do about the error. */
interface ErrorWords {
  title: string;
  advice: string;
}

const wrong = { title: 'Check what you entered', advice: 'Go back and correct it.' };

const byCode: Partial<Record<ErrorCode, ErrorWords>> & { other: ErrorWords } = {
  invalid_parameter: wrong,
  invalid_body: wrong,
  unauthorized: { title: 'A token is required', advice: 'The operator of this server issues tokens.' },
  conflict: { title: 'This is not possible now', advice: 'Go back, and reload the page.' },
  not_found: {
    title: 'Page not found',
    advice: 'Check the link for typos. If it used to work, its content has been deleted.',
  },
  gone: {
    title: 'This picture is gone',
    advice: 'Ask for a new link if you still need it.',
  },
  forbidden: {
    title: 'Not allowed',
    advice: 'It needs the right link or token, and an address that is not blocked.',
  },
  rate_limited: {
    title: 'Too many requests',
    advice: 'This server limits the requests from each IP address.',
  },
  busy: { title: 'The server is busy', advice: 'It is working at full capacity.' },
  unavailable: {
    title: 'Temporarily unavailable',
    advice: 'Part of this server is not responding. It should be back soon.',
  },
  storage_full: { title: 'Storage is full', advice: 'Uploads will work again once there is space.' },
  too_large: { title: 'This file is too large', advice: 'Choose a smaller one.' },
  not_an_image: { title: 'This file type is not supported', advice: 'Choose a picture in a common format.' },
  undecodable_image: {
    title: 'This picture is damaged',
    advice: 'It cannot be read. Save it again, or choose another picture.',
  },
  image_limit: {
    title: 'This picture has too many pixels',
    advice: 'Its dimensions or number of frames exceed what this server accepts.',
  },
  conversion_timeout: {
    title: 'This picture took too long to convert',
    advice: 'Choose a smaller one, or another format.',
  },
  internal: { title: 'Something went wrong', advice: 'The server ran into an error and logged it.' },
  other: { title: 'That did not work', advice: '' },
};

export const errors = {
  byCode,
  /** Messages of the API in the language of the page; `null`: unchanged. */
  messages: null as Readonly<Record<Template, string>> | null,
  file: 'File',
  /** What a field must be: “must be …”, or a sentence. */
  faultyField: (label: string, rule: string) => (/^[A-Z]/.test(rule) ? rule : `${label} ${rule}`),
  wrongField: (label: string) => `${label} is not valid.`,
  tryAgainIn: (time: string) => `Try again in ${time}.`,
  home: 'Go to the home page',
  request: (status: number) => `Error ${status}, request`,
};
