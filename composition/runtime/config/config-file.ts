import { readFileSync } from 'node:fs'
import { FAILSAFE_SCHEMA, loadAll, nullCoreTag, YAMLException } from 'js-yaml'
import type { RawSetting } from '../../part/setting-type.ts'

export interface ConfigFile {
  readonly values: Readonly<Record<string, RawSetting>>
  readonly problems: readonly string[]
}

/** A few aliases are useful to keep two addresses equal. Many aliases only make a small file huge. */
const maxAliases = 50

/**
 * Every value is the text that the file has: as a number, the password 0123 would be 123, and the version 1.10 would be
 * 1.1.
 */
const schema = FAILSAFE_SCHEMA.withTags(nullCoreTag)

/** Reads a YAML mapping of setting keys to scalars or lists. Messages contain positions, never text of the file. */
export const readConfigYaml = (file: string): ConfigFile => {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
    return { values: {}, problems: [`The configuration file ${file} cannot be read (${code}).`] }
  }
  try {
    const [content, ...others] = loadAll(text, { schema, maxAliases })
    return others.length === 0
      ? asSettings(file, content)
      : { values: {}, problems: [`${file} must hold one YAML document.`] }
  } catch (error) {
    return { values: {}, problems: [problemOf(file, error)] }
  }
}

const problemOf = (file: string, error: unknown): string => {
  if (!(error instanceof YAMLException)) return `${file} is not valid YAML.`
  if (error.reason.startsWith('aliases exceeded')) return `${file} repeats itself by too many aliases (*name).`
  const { line, column } = error.mark ?? { line: 0, column: 0 }
  return `${file}, line ${line + 1}, column ${column + 1}: not valid YAML (${hintOf(error.reason)}).`
}

/** Returns a hint for the reason of an error. The names that the library quotes from the file are cut off. */
const hintOf = (reason: string): string =>
  reason === 'bad indentation of a mapping entry'
    ? 'a wrong indentation; a value that ends in a colon or starts with a sign such as @ needs quotes, as "inproc:"'
    : reason.replace(/(?:: | "| !<)[^]*/, '')

const asSettings = (file: string, content: unknown): ConfigFile => {
  if (content === null || content === undefined) return { values: {}, problems: [] }
  if (typeof content !== 'object' || Array.isArray(content)) {
    return { values: {}, problems: [`${file} must hold keys and values, as \`listen: 127.0.0.1:3000\`.`] }
  }
  const values = new Map<string, RawSetting>()
  const problems: string[] = []
  for (const [key, value] of Object.entries(content)) {
    if (value === null) continue
    const raw = asRaw(value)
    if (raw === undefined) problems.push(`${key} in ${file} must be a value or a list of values, not a nested mapping.`)
    else values.set(key, raw)
  }
  return { values: Object.fromEntries(values), problems }
}

const asRaw = (value: unknown): RawSetting | undefined => {
  if (Array.isArray(value)) return value.every((item) => typeof item === 'string') ? value : undefined
  return typeof value === 'string' ? value : undefined
}
