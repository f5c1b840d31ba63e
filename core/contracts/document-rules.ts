/** Maximum size of a document in bytes: 25 MiB. */
export const maxDocumentBytes = 26_214_400
/** How long a link to a document is valid. */
export const linkSeconds = 1800

/**
 * The types that are taken, by the bytes with which their files begin. An office document is not one of them: it can contain
 * macros, and shows something else tomorrow.
 */
const types = [
  { mediaType: 'application/pdf', ending: 'pdf', magic: [0x25, 0x50, 0x44, 0x46, 0x2d] },
  { mediaType: 'image/png', ending: 'png', magic: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { mediaType: 'image/jpeg', ending: 'jpg', magic: [0xff, 0xd8, 0xff] },
] as const
export type DocumentType = (typeof types)[number]

export const documentMediaTypes = types.map(({ mediaType }) => mediaType)

/** Returns the type of a document by its content; undefined if it is not one of those that are taken. The name says nothing. */
export const documentTypeOf = (bytes: Uint8Array): DocumentType | undefined => types.find(({ magic }) => magic.every((byte, index) => bytes[index] === byte))

const maxNameLength = 200

/** Returns the last part of a file name without control characters, with the ending of the type. */
export const documentNameOf = (given: string, { ending, mediaType }: DocumentType): string => {
  const last = given.split(/[/\\]/).at(-1) ?? ''
  const plain = last.replace(/[\p{Cc}\p{Cf}\p{Cs}<>:"|?*]/gu, '').trim()
  const stem = (plain === '' || /^\.+$/.test(plain) ? 'contract' : plain).slice(0, maxNameLength)
  const endings = mediaType === 'image/jpeg' ? /\.jpe?g$/i : new RegExp(`\\.${ending}$`, 'i')
  return endings.test(stem) ? stem : `${stem}.${ending}`
}
