import type { KubeObject, ObjectMeta, Tree } from './kube-object.ts'

/** Field number to values: bytes of length-delimited fields, numbers of varints. */
type Fields = ReadonlyMap<number, readonly (Buffer | number)[]>

const magic = Buffer.from('k8s\0')

export const isProtobuf = (body: Buffer): boolean => body.subarray(0, 4).equals(magic)

/** A Secret, ConfigMap or Namespace as client-go sends it; of other kinds only what stands in the metadata. */
export const readProtobuf = (body: Buffer): KubeObject => {
  const envelope = fieldsOf(body.subarray(4))
  const type = fieldsOf(bytes(envelope, 1))
  const [apiVersion, kind] = [text(type, 1), text(type, 2)]
  const content = fieldsOf(bytes(envelope, 2))
  if (kind === 'DeleteOptions') return { apiVersion, kind, metadata: { name: '' }, ...deleteOptions(content) }
  const object = { apiVersion, kind, metadata: metadataOf(fieldsOf(bytes(content, 1))) }
  if (kind === 'Secret') {
    return {
      ...object,
      type: text(content, 3) === '' ? 'Opaque' : text(content, 3),
      data: mapOf(content, 2, (value) => value.toString('base64')),
    }
  }
  if (kind === 'ConfigMap') return { ...object, data: mapOf(content, 2, (value) => value.toString('utf8')) }
  return object
}

const deleteOptions = (content: Fields): Tree =>
  text(content, 4) === '' ? {} : { propagationPolicy: text(content, 4) }

const metadataOf = (fields: Fields): ObjectMeta => {
  const [labels, annotations] = [mapOf(fields, 11, String), mapOf(fields, 12, String)]
  const [namespace, resourceVersion, generateName, uid] = [
    text(fields, 3),
    text(fields, 6),
    text(fields, 2),
    text(fields, 5),
  ]
  return {
    name: text(fields, 1),
    ...(namespace === '' ? {} : { namespace }),
    ...(resourceVersion === '' ? {} : { resourceVersion }),
    ...(generateName === '' ? {} : { generateName }),
    ...(uid === '' ? {} : { uid }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  }
}

const bytes = (fields: Fields, number: number): Buffer => {
  const value = fields.get(number)?.at(-1)
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0)
}

const text = (fields: Fields, number: number): string => bytes(fields, number).toString('utf8')

const mapOf = (fields: Fields, number: number, read: (value: Buffer) => string): Record<string, string> =>
  Object.fromEntries(
    (fields.get(number) ?? [])
      .filter((entry) => Buffer.isBuffer(entry))
      .map((entry) => {
        const pair = fieldsOf(entry)
        return [text(pair, 1), read(bytes(pair, 2))]
      }),
  )

const fieldsOf = (message: Buffer): Fields => {
  const fields = new Map<number, (Buffer | number)[]>()
  let at = 0
  const varint = (): number => {
    let [value, factor] = [0, 1]
    for (;;) {
      const byte = message[at++]
      if (byte === undefined) throw new Error('a protobuf body breaks off')
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
      factor *= 128
    }
  }
  while (at < message.length) {
    const tag = varint()
    const [number, wire] = [Math.floor(tag / 8), tag % 8]
    const values = fields.get(number) ?? []
    fields.set(number, values)
    if (wire === 0) values.push(varint())
    else if (wire === 2) {
      const length = varint()
      values.push(message.subarray(at, (at += length)))
    } else if (wire === 1) at += 8
    else if (wire === 5) at += 4
    else throw new Error(`protobuf wire type ${wire} is not read`)
  }
  return fields
}
