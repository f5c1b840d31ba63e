const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown }

/** JSON text in which a bigint stands as the integer literal that it is. */
export const toWireJson = (value: unknown): string => {
  try {
    // Hardly any answer holds a bigint, and a replacer costs several times as much.
    return JSON.stringify(value)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? rawJSON(item.toString()) : item))
  }
}

type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const keepExact: SourceReviver = (_, value, context) =>
  typeof value === 'number' && !Number.isSafeInteger(value) && context.source !== undefined && /^-?[0-9]+$/.test(context.source)
    ? BigInt(context.source)
    : value

/** Parses JSON text; integer literals beyond 2^53 become bigint. Throws a SyntaxError on anything else. */
export const fromWireJson = (text: string): unknown =>
  /\d{16}/.test(text) ? (JSON.parse(text, keepExact as (key: string, value: unknown) => unknown) as unknown) : (JSON.parse(text) as unknown)
