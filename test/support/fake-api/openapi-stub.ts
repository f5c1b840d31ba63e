const field = (number: number, content: Buffer | string): Buffer => {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes])
}

/** An OpenAPI v2 document without paths or definitions: clients validate nothing by it. */
export const openApiV2Protobuf: Buffer = Buffer.concat([
  field(1, '2.0'),
  field(2, Buffer.concat([field(1, 'Kubernetes'), field(2, 'v1.34.2')])),
  field(8, ''),
  field(9, ''),
])

export const openApiV2ContentType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
