import { decoded, flagOf, requireParameters } from '../servers.ts';

/** The contents of an `s3:` URL. */
export interface S3Address {
  bucket: string;
  /** Prefix of every object's name: empty, or ends with a slash. */
  prefix: string;
  /** `undefined`: Amazon's endpoint for the region. */
  endpoint: string | undefined;
  region: string;
  /** True: `endpoint/bucket/key`; false: `bucket.endpoint/key`. */
  pathStyle: boolean;
}

/**
 * Parses `s3://bucket[/prefix][?endpoint=https://s3.example&region=us-east-1&path_style=true]`. Path style is the
 * default if the endpoint is an address or `localhost`, which cannot have the bucket as a subdomain.
 * @throws {RangeError} that says what is valid.
 */
export function parseS3Url(text: string): S3Address {
  const url = new URL(text);
  requireParameters(url, 's3', ['endpoint', 'region', 'path_style']);
  const bucket = url.hostname;
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
    throw new RangeError('an s3: URL must begin with s3:// and the name of a bucket');
  }
  const folder = decoded(url.pathname).replace(/^\/+|(?<!\/)\/+$/g, '');
  const endpoint = url.searchParams.get('endpoint') || undefined;
  if (endpoint && !/^https?:\/\//.test(endpoint)) {
    throw new RangeError('the endpoint of an s3: URL must begin with http:// or https://');
  }
  return {
    bucket,
    prefix: folder && `${folder}/`,
    endpoint,
    region: url.searchParams.get('region') || 'us-east-1',
    pathStyle: flagOf(url, 'path_style') ?? (!!endpoint && !takesSubdomains(endpoint)),
  };
}

function takesSubdomains(endpoint: string): boolean {
  const { hostname } = new URL(endpoint);
  return hostname !== 'localhost' && !/^[\d.]+$|^\[/.test(hostname);
}
