/** One element of an `Accept` or `Accept-Encoding` header. */
export interface Preference {
  /** A media type, a range of them or a coding, in lower case. */
  readonly name: string
  /** 0 to 1; 0 refuses it. */
  readonly quality: number
}

const qualityForm = /^q\s*=\s*([01](?:\.\d*)?)$/

/**
 * Returns the elements of a header, in its order (RFC 9110 §12.4.2). Parameters other than `q` are no condition. An
 * element whose quality is missing or malformed has the quality 1.
 */
export const readPreferences = (header: string | undefined): readonly Preference[] =>
  (header ?? '').split(',').map((element) => {
    const [name = '', ...parameters] = element.split(';').map((part) => part.trim().toLowerCase())
    const quality = parameters.map((parameter) => qualityForm.exec(parameter)?.[1]).find((found) => found !== undefined)
    return { name, quality: Math.min(1, Number(quality ?? '1')) }
  })

/** Returns the quality that a header gives to a type or coding by its own name, not by a range; 0 if it does not. */
export const qualityOf = (header: string | undefined, name: string): number =>
  readPreferences(header).find((preference) => preference.name === name)?.quality ?? 0
