import { readFileSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import type { RawSetting } from './setting-type.ts'

export interface ConfigFile {
  readonly values: Readonly<Record<string, RawSetting>>
  readonly problems: readonly string[]
}

/** A few aliases are useful to keep two addresses equal. Many aliases only make a small file huge. */
const mostAliases = 50

/** Reads a YAML mapping of setting keys to scalars or lists. Messages contain positions, never text of the file. */
export const readConfigYaml = (file: string): ConfigFile => {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    return { values: {}, problems: [`The configuration file ${file} cannot be read (${code}).`] }
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => {
      const { line, col } = lines.linePos(error.pos[0])
      return `${file}, line ${line}, column ${col}: not valid YAML (${hintOf(error.code)}).`
    })
    return { values: {}, problems }
  }
  try {
    return asSettings(file, document.toJS({ maxAliasCount: mostAliases }))
  } catch {
    return { values: {}, problems: [`${file} repeats itself by too many aliases (*name).`] }
  }
}

/** Returns a hint for an error code. Messages of the library can quote the file, so only its codes are used. */
const hintOf = (code: string): string =>
  code === 'BLOCK_AS_IMPLICIT_KEY' ? 'a value that ends in a colon needs quotes, as "inproc:"' : code.toLowerCase().replaceAll('_', ' ')

const asSettings = (file: string, content: unknown): ConfigFile => {
  if (content === null || content === undefined) return { values: {}, problems: [] }
  if (typeof content !== 'object' || Array.isArray(content)) {
    return { values: {}, problems: [`${file} must hold keys and values, as \`listen: 127.0.0.1:3000\`.`] }
  }
  const values: Record<string, RawSetting> = {}
  const problems: string[] = []
  for (const [key, value] of Object.entries(content)) {
    if (value === null) continue
    const raw = asRaw(value)
    if (raw === undefined) problems.push(`${key} in ${file} must be a value or a list of values, not a nested mapping.`)
    else values[key] = raw
  }
  return { values, problems }
}

const asRaw = (value: unknown): RawSetting | undefined => {
  if (Array.isArray(value)) return value.every(isScalar) ? value.map(String) : undefined
  return isScalar(value) ? String(value) : undefined
}

const isScalar = (value: unknown): boolean => ['string', 'number', 'boolean', 'bigint'].includes(typeof value)
