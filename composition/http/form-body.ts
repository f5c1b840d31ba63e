import { Busboy } from '@fastify/busboy'
import type { BusboyInstance } from '@fastify/busboy'
import { toWireJson } from '../../core/kernel/wire-json.ts'

/** The content type of a form with files. */
export const isForm = (contentType: string): boolean => /^multipart\/form-data *;/i.test(contentType)

const limits = { fieldNameSize: 100, fieldSize: 65_536, fields: 50, files: 10, parts: 60, headerPairs: 20 }

/**
 * A form as the JSON text of one object, so that it is decoded, digested and refused as any other body is: each field a
 * text, each file its bytes in base64. A name that stands twice counts once, the last wins. Undefined when it is no such
 * form, or larger than a form needs to be.
 */
export const formAsJson = (contentType: string, body: Uint8Array): Promise<string | undefined> =>
  new Promise((resolve) => {
    const fields = new Map<string, string>()
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
      fields.set(name, value)
    })
    form.on('file', (name, stream) => {
      const chunks: Uint8Array[] = []
      stream.on('data', (chunk: Uint8Array) => chunks.push(chunk))
      stream.on('limit', breakOff)
      stream.on('error', breakOff)
      stream.on('end', () => fields.set(name, Buffer.concat(chunks).toString('base64')))
    })
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) form.on(limit, breakOff)
    form.on('error', () => resolve(undefined))
    form.on('finish', () => resolve(isBroken ? undefined : toWireJson(Object.fromEntries(fields))))
    form.end(Buffer.from(body.buffer, body.byteOffset, body.length))
  })
