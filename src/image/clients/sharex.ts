/**
 * Returns a ShareX custom uploader for this server. `base`: scheme, host and base path. Users add their token after
 * importing it.
 */
export function sharexUploader(base: string, needsToken: boolean) {
  return {
    Version: '15.0.0',
    Name: `picpool (${new URL(base).host})`,
    DestinationType: 'ImageUploader',
    RequestMethod: 'POST',
    RequestURL: `${base}/api/upload`,
    ...(needsToken && { Headers: { Authorization: 'Bearer YOUR-TOKEN' } }),
    Body: 'MultipartFormData',
    FileFormName: 'image',
    URL: '{json:raw_url}',
    ThumbnailURL: '{json:raw_url}?w=320',
    DeletionURL: '{json:delete_url}',
    ErrorMessage: '{json:error}',
  };
}
