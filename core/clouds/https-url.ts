/** The URL in one spelling, without a trailing slash; undefined when it is no plain https URL. */
export const httpsUrl = (text: string): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.protocol !== 'https:' || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return undefined
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
}
