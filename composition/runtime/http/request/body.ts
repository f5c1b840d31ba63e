import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import type { BusboyInstance } from '@fastify/busboy'
import { Busboy } from '@fastify/busboy'
import { toWireJson } from '../../../../core/kernel/json.ts'

/** Reports whether the content type is that of a form with files. */
const isForm = (contentType: string): boolean => /^multipart\/form-data *;/i.test(contentType)

const limits = { fieldNameSize: 100, fieldSize: 65_536, fields: 50, files: 10, parts: 60, headerPairs: 20 }

/**
 * Returns a form as the JSON text of one object, so that it is decoded, digested and refused like any other body: each
 * field is a text, or JSON if its name is one of `jsonFields`; each file is its bytes in base64. A repeated name is a
 * repeated key of the text. Returns undefined for a body that is not such a form, or is larger than a form needs to be.
 */
const formAsJson = (
  contentType: string,
  body: Uint8Array,
  jsonFields: readonly string[] = [],
): Promise<string | undefined> =>
  new Promise((resolve) => {
    const fields: (readonly [name: string, value: string])[] = []
    let isBroken = false
    const breakOff = (): void => {
      isBroken = true
    }
    let form: BusboyInstance
    try {
      form = new Busboy({ headers: { 'content-type': contentType }, limits })
    } catch {
      return resolve(undefined)
    }
    form.on('field', (name, value, nameTruncated, valueTruncated) => {
      if (nameTruncated || valueTruncated) breakOff()
      fields.push([name, value])
    })
    form.on('file', (name, stream) => {
      const chunks: Uint8Array[] = []
      stream.on('data', (chunk: Uint8Array) => chunks.push(chunk))
      stream.on('limit', breakOff)
      stream.on('error', breakOff)
      stream.on('end', () => fields.push([name, Buffer.concat(chunks).toString('base64')]))
    })
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) form.on(limit, breakOff)
    form.on('error', () => resolve(undefined))
    form.on('finish', () => resolve(isBroken ? undefined : objectText(fields, jsonFields)))
    form.end(Buffer.from(body.buffer, body.byteOffset, body.length))
  })

const objectText = (
  fields: readonly (readonly [name: string, value: string])[],
  jsonFields: readonly string[],
): string =>
  `{${fields.map(([name, value]) => `${toWireJson(name)}:${jsonFields.includes(name) && isJson(value) ? value : toWireJson(value)}`).join(',')}}`

/** Text that is not JSON stays a text, which the codec of the body refuses by its name. */
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The reason why a body was refused. `status` is that of the answer. */
interface BodyRefusal {
  readonly status: 400 | 408 | 413 | 415
  readonly code: string
  readonly message: string
}
export type BodyResult =
  | { readonly ok: true; readonly text: string | undefined }
  | { readonly ok: false; readonly refusal: BodyRefusal }

const refuse = (status: BodyRefusal['status'], code: string, message: string): BodyResult => ({
  ok: false,
  refusal: { status, code, message },
})

/** Reports whether the request announces a body. */
export const announcesBody = (req: IncomingMessage): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0

/**
 * Reports whether a content type is JSON in UTF-8, which is written utf8, too. Other parameters say nothing about JSON
 * (RFC 8259 §11).
 */
const isJsonType = (contentType: string, takesPlainText: boolean): boolean => {
  if (contentType.length > 255) return false
  let type: MIMEType
  try {
    type = new MIMEType(contentType)
  } catch {
    return false
  }
  const isJson =
    type.essence === 'application/json' ||
    (type.type === 'application' && type.subtype.endsWith('+json')) ||
    (takesPlainText && type.essence === 'text/plain')
  return isJson && /^utf-?8$/i.test(type.params.get('charset') ?? 'utf-8')
}

/** Reports whether the content type is that of a form without files. */
const isUrlEncoded = (contentType: string): boolean => /^application\/x-www-form-urlencoded *(?:;|$)/i.test(contentType)

const mostFormFields = 20

const formOf = (read: BodyResult): BodyResult =>
  read.ok && read.text !== undefined ? urlEncodedAsJson(read.text) : read

/** Returns such a form as the JSON text of one object. A repeated name is a repeated key of the text. */
const urlEncodedAsJson = (text: string): BodyResult => {
  const fields = [...new URLSearchParams(text)]
  return fields.length > mostFormFields
    ? refuse(400, 'MalformedBody', `The form has more than ${mostFormFields} fields.`)
    : { ok: true, text: objectText(fields, []) }
}

/** The forms of a body beside JSON that a route takes. */
interface BodyForms {
  /** The fields of a form that hold JSON; undefined: no form is accepted. */
  readonly jsonFields?: readonly string[] | undefined
  /** JSON is accepted as `text/plain` too. */
  readonly takesPlainText?: boolean
  /** A form of texts is accepted as `application/x-www-form-urlencoded`. */
  readonly takesUrlEncoded?: boolean
}

const headRefusal = (
  req: IncomingMessage,
  limitBytes: number,
  { jsonFields, takesPlainText = false, takesUrlEncoded = false }: BodyForms,
): BodyResult | undefined => {
  const takesForm = jsonFields !== undefined
  const encoding = req.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return refuse(
      415,
      'UnsupportedEncoding',
      'Compressed request bodies are not accepted. Send the body without the header Content-Encoding.',
    )
  }
  const type = req.headers['content-type'] ?? ''
  const isTaken =
    isJsonType(type, takesPlainText) || (takesForm && isForm(type)) || (takesUrlEncoded && isUrlEncoded(type))
  if (!isTaken) {
    const others = takesForm ? ', or a multipart/form-data body' : takesUrlEncoded ? ', or a form' : ''
    return refuse(
      415,
      'UnsupportedMediaType',
      `The body must be JSON in UTF-8. Send the header Content-Type: application/json${others}.`,
    )
  }
  if (Number(req.headers['content-length'] ?? 0) > limitBytes) return tooLarge(limitBytes)
  return undefined
}

const tooLarge = (limitBytes: number): BodyResult =>
  refuse(413, 'BodyTooLarge', `The body is larger than the ${limitBytes} bytes that this route takes.`)

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const decode = (chunks: readonly Uint8Array[]): BodyResult => {
  try {
    return { ok: true, text: decoder.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)) }
  } catch {
    return refuse(400, 'MalformedBody', 'The body is not valid UTF-8.')
  }
}

const decodeForm = async (
  contentType: string,
  chunks: readonly Uint8Array[],
  jsonFields: readonly string[],
): Promise<BodyResult> => {
  const text = await formAsJson(contentType, Buffer.concat(chunks), jsonFields)
  return text === undefined
    ? refuse(400, 'MalformedBody', 'The body is no form of the kind that it says to be.')
    : { ok: true, text }
}

/**
 * Reads a JSON body as text (or a form, when the route accepts one, as the JSON of its fields), and stops once it
 * exceeds the limit: the announced, the received and the stored size are all bounded. The caller closes the connection
 * after a 413, since the rest of the body is never read.
 */
export const readBody = (req: IncomingMessage, limitBytes: number, forms: BodyForms = {}): Promise<BodyResult> => {
  const { jsonFields } = forms
  if (!announcesBody(req)) return Promise.resolve({ ok: true, text: undefined })
  const refused = headRefusal(req, limitBytes, forms)
  if (refused !== undefined) return Promise.resolve(refused)
  return new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let size = 0
    const type = req.headers['content-type'] ?? ''
    const finish = (result: BodyResult | Promise<BodyResult>): void => {
      req.off('data', onData)
      req.off('end', onEnd)
      req.off('close', onClose)
      resolve(result)
    }
    const onData = (chunk: Uint8Array): void => {
      size += chunk.length
      if (size > limitBytes) {
        req.pause()
        finish(tooLarge(limitBytes))
      } else chunks.push(chunk)
    }
    const onEnd = (): void =>
      finish(
        size === 0
          ? { ok: true, text: undefined }
          : jsonFields !== undefined && isForm(type)
            ? decodeForm(type, chunks, jsonFields)
            : forms.takesUrlEncoded === true && isUrlEncoded(type)
              ? formOf(decode(chunks))
              : decode(chunks),
      )
    const onClose = (): void => finish(refuse(400, 'BodyCutShort', 'The connection ended before the body did.'))
    req.on('data', onData)
    req.on('end', onEnd)
    req.on('close', onClose)
  })
}
