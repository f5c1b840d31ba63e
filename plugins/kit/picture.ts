/** Bytes of a request that carries a picture of 3 MiB in base64, and the JSON around it. */
export const pictureBodyBytes = 4_300_000

/** A PNG of one pixel, in base64. */
export const pictureExample = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** Where a picture is shown: under the digest of its bytes. */
export const pictureUrlExample = 'https://platform.example/api/v1/avatars/xBTNDiBN6XT3N1PH4o12OOezaRu4saK6trJbt_7Xznc'
