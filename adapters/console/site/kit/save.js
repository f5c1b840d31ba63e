/**
 * Saves a text as a file of the reader.
 *
 * @param {string} name
 * @param {string} type
 * @param {BlobPart} content
 */
export const saveAs = (name, type, content) => {
  const url = URL.createObjectURL(new Blob([content], { type }))
  const link = document.createElement('a')
  link.href = url
  // A name of a cluster may have characters that a file name must not have.
  link.download = name.replace(/[^\p{L}\p{N}._-]+/gu, '-')
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
