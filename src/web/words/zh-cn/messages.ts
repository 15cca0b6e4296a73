/**
 * Error messages on pages, by their English template. A name in braces is a value, which is itself translated if it is in
 * this list. These are the templates that errors may have: see `Said`.
 */
export const messages = {
  // The file
  'The upload is larger than the limit of {limit}.': '上传内容超过了 {limit} 的上限。',
  'The file {found}; {formats} and {last} are accepted.': '该文件{found}；支持 {formats} 和 {last} 格式。',
  'is not in a known picture format': '不是已知的图片格式',
  'is {kind}': '是{kind}',
  'a JPEG 2000 picture': ' JPEG 2000 图片',
  'a Photoshop file': ' Photoshop 文件',
  'a PDF': ' PDF 文件',
  'an SVG drawing': ' SVG 矢量图',
  'a web page': '网页',
  'a WebM or Matroska video': ' WebM 或 Matroska 视频',
  'a raw photo': ' RAW 照片',
  'a sound file': '音频文件',
  'a video': '视频',
  'an OpenEXR picture': ' OpenEXR 图片',
  'a Radiance picture': ' Radiance 图片',
  'a ZIP archive': ' ZIP 压缩包',
  'The image is {width} x {height} pixels; neither side may exceed {most}.':
    '图片为 {width} × {height} 像素，任一边不得超过 {most} 像素。',
  'The image has {frames} frames; at most {most} are allowed.': '图片有 {frames} 帧，最多允许 {most} 帧。',
  'The image has {width} x {height} pixels in each of {frames} frames, {pixels} in all; at most {most} are allowed.':
    '图片共 {frames} 帧，每帧 {width} × {height} 像素，总计 {pixels} 像素，最多允许 {most} 像素。',
  'The image has {width} x {height} pixels, {pixels} in all; at most {most} are allowed.':
    '图片为 {width} × {height} 像素，总计 {pixels} 像素，最多允许 {most} 像素。',
  'Converting the image takes too much memory; try smaller dimensions.':
    '转换该图片所需的内存超出限制，请换用尺寸较小的图片。',
  'The image could not be converted within {seconds} s.': '图片未能在 {seconds} 秒内完成转换。',
  'The image cannot be converted: the decoder crashes on it.': '无法转换该图片：解码器处理时出错。',
  'The {kind} file is damaged, truncated or of a kind that this server cannot read.':
    '该 {kind} 文件已损坏、不完整或属于本服务器无法读取的类型。',
  'The first picture of the TIFF file is a preview, as in raw photos; send the whole picture as JPEG.':
    'TIFF 文件的第一张图片只是预览图（如 RAW 照片）；请以 JPEG 格式上传完整的图片。',
  'The TIFF file is compressed in a way that this server cannot read; save it with LZW, or as PNG.':
    '本服务器无法读取该 TIFF 文件的压缩方式；请改用 LZW 压缩，或保存为 PNG。',
  'The samples of the TIFF file are fractions, signed, or of 32 bits, and their range is unknown; save it with 8 or 16 bits.':
    'TIFF 文件的采样值为小数、有符号数或 32 位数，取值范围不明；请保存为 8 位或 16 位。',
  'The file is a HEIC picture, which this server does not accept; send it as JPEG.':
    '该文件是 HEIC 图片，本服务器不接受，请改用 JPEG。',
  'The {frames} frames of the animated AVIF picture build on each other, which takes this server too long to decode; send it as WebP, GIF or animated PNG, or with more key frames.':
    'AVIF 动图的 {frames} 帧层层依赖，本服务器解码耗时过长；请改用 WebP、GIF 或动态 PNG，或增加关键帧。',
  'The file is an animated HEIF picture, which this server cannot read; send it as WebP, GIF or animated PNG.':
    '该文件是 HEIF 动图，本服务器无法读取，请改用 WebP、GIF 或动态 PNG。',
  'The file is empty: it has 0 bytes.': '文件为空（0 字节）。',
  'No image was sent.': '没有选择图片。',
  'The operator of this server does not accept this picture.': '本服务器的管理员不接受这张图片。',
  'The service that scans pictures does not respond.': '图片审查服务没有响应。',
  'This picture was blocked by the operator.': '管理员已屏蔽这张图片。',
  'This address was blocked by the operator.': '管理员已屏蔽此地址。',

  // The form
  'The form has no file in the field {field}.': '表单中没有文件。',
  'The form has no picture in the field {field}.': '表单中没有图片。',
  'A form can have at most one file in the field {field}.': '每次最多提交 1 个文件。',
  'A form can have at most {most} files in the field {field}.': '每次最多提交 {most} 个文件。',
  'Send one picture in the field {field}.': '每次只能提交一张图片。',
  'The field {field} is longer than {most} bytes.': '填写的内容超过了 {most} 字节的上限。',
  'The form has too many fields.': '表单中的字段过多。',
  'The form has too many parts.': '表单中的内容过多。',
  'The multipart form is malformed.': '表单数据格式有误。',
  '{name} must be at most {most} bytes.': '{name}不得超过 {most} 字节。',
  'The form': '表单',
  'The body': '请求内容',
  'The body must be a form (application/x-www-form-urlencoded).': '请求内容必须是表单。',
  '{name} is arriving too slowly.': '{name}传输过慢。',
  'The request body is arriving too slowly.': '上传速度过慢。',
  'The request body ended before it was complete.': '上传中断，数据不完整。',
  'The connection was closed before the response.': '连接在收到回复前已断开。',
  '{field} can be given for a single file only.': '只有上传单个文件时才能指定 {field}。',
  'visibility=protected needs a password.': '选择“知道密码的人”时必须填写密码。',
  'A picture with a password is protected: leave out the password, or visibility={visibility}.':
    '设有密码的图片受密码保护：请清除密码，或选择“知道密码的人”。',
  'This server lists no pictures; visibility must be unlisted or protected.':
    '本服务器不公开展示图片，请选择其他可见范围。',
  'A picture with max_views cannot be listed, because visitors of the list would use up its views; visibility must be unlisted or protected.':
    '限制查看次数的图片不能公开展示，请选择其他可见范围。',
  'expires_in must be at most {most} on this server.': '在本服务器上最长为 {most}。',
  'title must be at most {most} characters.': '标题最多 {most} 个字符。',
  'There is no parameter {field}; did you mean {meant}?': '参数 {field} 不存在，是否想输入 {meant}？',

  // What a field must be
  '{field} {rule}.': '{rule}',
  '{rule}, not {value}': '{rule}，而当前值为 {value}',
  'is required and {rule}': '必填，{rule}',
  'must be true or false': '必须为 true 或 false',
  'must be an integer from {least} to {most}': '必须是 {least} 到 {most} 之间的整数',
  'must be a number from {least} to {most}': '必须是 {least} 到 {most} 之间的数字',
  'must be an integer of at least {least}': '必须是不小于 {least} 的整数',
  'must be a number of at least {least}': '必须是不小于 {least} 的数字',
  'must be an integer': '必须是整数',
  'must be a number': '必须是数字',
  'must be one of {choices}': '必须是以下之一：{choices}',
  'must be at most {most} bytes': '不得超过 {most} 字节',
  'must be a string, at most {most} characters': '最多 {most} 个字符',
  'must be a string': '必须是文本',
  'must be a time from {least} to {most}, such as 30m, 12h, 7d, 2w or 1y, or never where the server allows it':
    '必须是 {least} 到 {most} 之间的时长，例如 30m、12h、7d、2w 或 1y，或在服务器允许时为 never',

  // Waiting
  'Too many requests of the kind "{kind}" from your address.': '你的地址发出的此类请求（{kind}）过多。',
  'The rate of this token is used up.': '此令牌的请求次数已用完。',
  'The quota of this token is used up.': '此令牌的上传额度已用完。',
  'Too many wrong tokens from your address; try again later.': '你的地址提交错误令牌的次数过多，请稍后重试。',
  'Too many wrong passwords from your network; try again later.':
    '你的网络输入错误密码的次数过多，请稍后重试。',
  'Too many passwords are being checked; try again in a moment.': '正在验证的密码过多，请稍后重试。',
  'Too many of your images are waiting to be converted; another one would wait {seconds} s. Try again later.':
    '你等待转换的图片过多，下一张需等待 {seconds} 秒，请稍后重试。',
  'Your conversions have used up their computing time; try again in {seconds} s.':
    '你的图片转换已用完计算时间，请在 {seconds} 秒后重试。',
  'Too many pictures are waiting for review.': '等待审核的图片过多。',
  'Too many decisions at once; try again in a moment.': '同时处理的审核过多，请稍后重试。',
  'Images cannot be converted at the moment.': '目前无法转换图片。',
  'The server ran out of memory while it converted the image. Try again later.':
    '服务器在转换图片时内存不足，请稍后重试。',
  'Only the administrator can confirm. Set ADMIN_TOKEN, or create a token with picpool token create NAME --role admin.':
    '只有管理员可以确认。请设置 ADMIN_TOKEN，或用 picpool token create NAME --role admin 创建令牌。',
  'The server is stopping.': '服务器正在停止运行。',
  'The client is no longer waiting for the image.': '已不再等待该图片。',
  'The last view of this picture is being sent.': '这张图片的最后一次查看正在进行中。',
  'The server is almost out of disk space; uploads are paused.': '服务器磁盘空间即将用尽，已暂停上传。',
  'The image storage is full; uploads are paused.': '图片存储空间已满，已暂停上传。',
  'There is no space left to convert the image.': '没有足够的空间来转换图片。',

  // The stores
  'The disk of the database is full.': '数据库所在的磁盘已满。',
  'The memory of the database is full.': '数据库的内存已满。',
  'The disk of the image files is full.': '图片文件所在的磁盘已满。',
  'The image storage is full.': '图片存储空间已满。',
  'There is no space left for the upload.': '没有足够的空间来接收上传。',
  'The image files cannot be read or written.': '无法读写图片文件。',
  'The database {fault}.': '数据库暂时无法使用。',
  'The database log cannot be written to the disk.': '数据库日志无法写入磁盘。',
  'The database log cannot be opened.': '数据库日志无法打开。',
  'The image storage {fault}.': '图片存储暂时无法使用。',
  'The record of this image cannot be read.': '无法读取这张图片的记录。',
  'The record of this album cannot be read.': '无法读取这个相册的记录。',
  'Another copy of the server has taken over this work.': '服务器的另一个副本已接手此项工作。',

  // What exists, and who may access it
  'There is no such image.': '没有这张图片。',
  'This invitation is not valid. It may have expired, or was revoked.': '此邀请无效，可能已过期或被撤销。',
  'This invitation is used up, or its album is full.': '此邀请的名额已用完，或相册已满。',
  'There is no such invitation.': '没有这个邀请。',
  'No guest has added this image.': '这张图片不是由访客添加的。',
  'There is no such album.': '没有这个相册。',
  'There is no such image in this album.': '这个相册中没有这张图片。',
  'The image of the cursor is no longer in this album. Start again at page 1.':
    '游标对应的图片已不在此相册中，请从第 1 页重新开始。',
  'There is nothing at this path.': '此路径下没有内容。',
  'This picture has expired or reached its view limit.': '图片已过期，或已达到查看次数上限。',
  'This album has no pictures to download.': '这个相册中没有可下载的图片。',
  'An album has at most {most} pictures; make another one.': '每个相册最多 {most} 张图片，请另建一个相册。',
  'Too many requests are changing this album at once.': '同时修改这个相册的请求过多。',
  'Only the uploader may delete an image. Send its delete token.': '只有上传者才能删除图片。请提供删除令牌。',
  'The delete token is wrong.': '删除令牌错误。',
  'This image needs a password.': '查看此图片需要密码。',
  'The password is wrong.': '密码错误。',
  'This needs the token of the album.': '需要此相册的令牌。',
  'This needs the header {header}.': '此操作需要有效的令牌。',
  'Changing an image needs its delete token.': '修改图片需要其删除令牌。',
  'Image {id} already exists.': '图片 {id} 已存在。',
  'Album {id} already exists.': '相册 {id} 已存在。',
  'The header Host must name one host.': '请求头 Host 必须只包含一个主机名。',
  'The body cannot be read as JSON.': '请求内容不是有效的 JSON。',
  'This path accepts only {methods}.': '此路径仅接受 {methods} 请求。',
  'This request comes from {page}, which is not allowed to change anything here. If the site is yours, set PUBLIC_URL or CORS_ORIGINS on the server.':
    '此请求来自 {page}，该网站无权在此进行修改。如果这是你自己的网站，请在服务器上设置 PUBLIC_URL 或 CORS_ORIGINS。',
  'The server does not know the host name {host}, so nothing can be changed under it. If it is the name of this server, set PUBLIC_URL, or ALLOWED_HOSTS to include it.':
    '服务器不认识主机名 {host}，因此无法通过它进行修改。如果这是本服务器的名称，请设置 PUBLIC_URL，或在 ALLOWED_HOSTS 中加入该名称。',
  'Something went wrong on the server.': '服务器内部出错。',
  // Administration
  'Too many reports; try again later.': '举报过多，请稍后再试。',
  'There is no such report, or it is too old.': '没有这项举报，或时间过久。',
  'You have already answered.': '你已经回复过。',
  'The token is wrong.': '令牌不正确。',
  'Only an administrator can do this.': '只有管理员可以执行此操作。',
  'The form is out of date. Open the page again.': '表单已失效，请重新打开页面。',
  'This would block your own address.': '这会封禁你自己的地址。',
};

export type Template = keyof typeof messages;
