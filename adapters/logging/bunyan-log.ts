import bunyan from 'bunyan'
import type { Log } from '../../core/kernel/log.ts'
import type { BatchedLines } from './log-lines.ts'
import { errorFields } from './error-fields.ts'

export interface BunyanLogOptions {
  readonly level: bunyan.LogLevelString
  readonly lines: Pick<BatchedLines, 'add'>
  readonly name?: string
}

/**
 * Writes Bunyan records, one JSON object per line. Only our own serializers are used: `error` and `err` log an explicit
 * set of fields.
 */
export const makeBunyanLog = ({ level, lines, name = 'moorage' }: BunyanLogOptions): Log => {
  const stream = { write: (record: object) => lines.add(lineOf(record)) } as unknown as NodeJS.WritableStream
  const logger = bunyan.createLogger({
    name,
    streams: [{ type: 'raw', level, stream }],
    serializers: { error: errorFields, err: errorFields },
  })
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  }
}

const lineOf = (record: object): string => {
  try {
    return `${JSON.stringify(record, asJson)}\n`
  } catch {
    const { level, time, msg } = record as { readonly level?: unknown; readonly time?: unknown; readonly msg?: unknown }
    return `${JSON.stringify({ level, time, msg, note: 'fields left out: they are no JSON' })}\n`
  }
}

const asJson = (_key: string, value: unknown): unknown => {
  if (typeof value === 'bigint') return value.toString()
  return value instanceof Error ? errorFields(value) : value
}
