/** The limit in bytes of a request with a picture of 3 MiB in base64 and the JSON around it. */
export const pictureBodyBytes = 4_300_000

/** A PNG of one pixel, in base64. */
export const pictureExample = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** The URL of a picture, which contains the digest of its bytes. */
export const pictureUrlExample = 'https://platform.example/api/v1/avatars/xBTNDiBN6XT3N1PH4o12OOezaRu4saK6trJbt_7Xznc'
