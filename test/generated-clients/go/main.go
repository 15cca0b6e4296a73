// The calls of test/support/clients/generated-clients.ts with what oapi-codegen has made.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"log"
	"mime/multipart"
	"os"
	"regexp"
	"strings"

	"picpool.test/calls/api"
)

const octets = "application/octet-stream"

var (
	ctx    = context.Background()
	client *api.ClientWithResponses
)

func main() {
	url := os.Args[1]
	picture, err := base64.StdEncoding.DecodeString(os.Args[2])
	fail(err)
	client, err = api.NewClientWithResponses(url)
	fail(err)

	dead := api.ListProxiesParamsStatusDead
	listed, err := client.ListProxiesWithResponse(ctx, &api.ListProxiesParams{
		Protocol: to("socks4,socks5"), Status: &dead, Limit: to(3),
	})
	fail(err)
	proxies := listed.JSON200.Proxies
	filters := []bool{}
	for _, one := range proxies {
		filters = append(filters, strings.HasPrefix(string(one.Protocol), "socks") && one.Status == api.ProxyStatusDead)
	}

	text := api.ExportProxiesParamsFormatText
	exported, err := client.ExportProxiesWithResponse(ctx, &api.ExportProxiesParams{
		Format: &text, Random: to(true), Limit: to(5),
	})
	fail(err)
	lines := regexp.MustCompile(`(?m)^[\d.]+:\d+$`).FindAll(exported.Body, -1)

	report, err := client.ReportProxyWithResponse(ctx, proxies[0].Id, api.ReportProxyJSONRequestBody{
		Ok: false, Target: to("example.com"),
	})
	fail(err)

	contentType, body := form(picture, map[string]string{"format": "png", "filename": "form é.png"})
	sent := upload(&api.UploadImageParams{}, contentType, body)
	jpeg, gif := api.UploadImageParamsFormatJpeg, api.UploadImageParamsFormatGif
	raw := upload(&api.UploadImageParams{
		Format: &jpeg, MaxWidth: to(1), Filename: to("bytes.png"),
	}, octets, bytes.NewReader(picture))
	secret := upload(&api.UploadImageParams{
		Format: &gif, Password: to("tea"),
	}, octets, bytes.NewReader(picture))

	info := infoOf(sent.Id, nil).JSON200

	first := page(nil)
	second := page(first.Next)

	unlisted := api.ChangeImageJSONBodyVisibilityUnlisted
	changed, err := client.ChangeImageWithResponse(ctx, sent.Id,
		&api.ChangeImageParams{XDeleteToken: &sent.DeleteToken},
		api.ChangeImageJSONRequestBody{Visibility: &unlisted, ExpiresIn: to("1d")})
	fail(err)

	locked := infoOf(secret.Id, nil)
	unlocked := infoOf(secret.Id, to("tea")).JSON200
	content, err := client.GetImageWithResponse(ctx, secret.Id+".gif", &api.GetImageParams{XImagePassword: to("tea")})
	fail(err)

	refused, err := client.ListProxiesWithResponse(ctx, &api.ListProxiesParams{Limit: to(0)})
	fail(err)

	for _, image := range []api.UploadedImage{sent, raw, secret} {
		_, err := client.DeleteImageWithResponse(ctx, image.Id, &api.DeleteImageParams{XDeleteToken: &image.DeleteToken})
		fail(err)
	}
	gone := infoOf(sent.Id, nil)

	fail(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"filters":  filters,
		"text":     len(lines),
		"report":   report.JSON200.NextCheck != "",
		"form":     []any{sent.Filename, sent.Format},
		"bytes":    []any{raw.Filename, raw.Format, raw.Width},
		"info":     []any{info.Id == sent.Id, info.ExpiresAt, info.Visibility},
		"pages":    []any{len(first.Images), len(second.Images), first.Images[0].Id != second.Images[0].Id},
		"change":   []any{changed.JSON200.Visibility, changed.JSON200.ExpiresAt != nil},
		"password": []any{locked.StatusCode(), locked.JSON401.Code, unlocked.Protected, len(content.Body) == secret.Size},
		"error":    []any{refused.StatusCode(), refused.JSON400.Code, (*refused.JSON400.Details)[0].Field},
		"deletion": []any{gone.StatusCode(), gone.JSON404.Code},
	}))
}

func upload(params *api.UploadImageParams, contentType string, body *bytes.Reader) api.UploadedImage {
	answer, err := client.UploadImageWithBodyWithResponse(ctx, params, contentType, body)
	fail(err)
	if answer.JSON201 == nil {
		log.Fatalf("it was not stored: %s", answer.Body)
	}
	image, err := answer.JSON201.AsUploadedImage()
	fail(err)
	return image
}

func form(picture []byte, fields map[string]string) (string, *bytes.Reader) {
	var body bytes.Buffer
	writer := multipart.NewWriter(&body)
	for name, value := range fields {
		fail(writer.WriteField(name, value))
	}
	part, err := writer.CreateFormFile("image", "ignored.png")
	fail(err)
	_, err = part.Write(picture)
	fail(err)
	fail(writer.Close())
	return writer.FormDataContentType(), bytes.NewReader(body.Bytes())
}

func infoOf(id string, password *string) *api.GetImageInfoResponse {
	answer, err := client.GetImageInfoWithResponse(ctx, id, &api.GetImageInfoParams{XImagePassword: password})
	fail(err)
	return answer
}

func page(cursor *string) *api.ImageList {
	answer, err := client.ListImagesWithResponse(ctx, &api.ListImagesParams{PerPage: to(1), Cursor: cursor})
	fail(err)
	return answer.JSON200
}

func to[T any](value T) *T { return &value }

func fail(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
