/** Bytes as hexadecimal digits in lower case, two for each byte. */
export const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
