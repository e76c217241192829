# One image for the programs: worker (the default), starter, and the dev stack's
# delivery stand-in. Static binaries, no root.
FROM golang:1.26.8-alpine3.23 AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY devstack/go.mod devstack/go.sum ./devstack/
RUN go mod download && cd devstack && go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /out/worker ./worker \
 && CGO_ENABLED=0 go build -trimpath -o /out/starter ./starter \
 && cd devstack && CGO_ENABLED=0 go build -trimpath -o /out/devstack .

FROM alpine:3.23
RUN apk add --no-cache ca-certificates && adduser -D -H -u 10001 sluice
COPY --from=build /out/ /usr/local/bin/
USER 10001:10001
ENTRYPOINT ["/usr/local/bin/worker"]
