import { getOrMake } from '../../../../core/kernel/cache.ts'
import type { LoadedSite, StaticSite } from '../../../part/pages/static-site.ts'
import type { Answer, PackedAnswer } from '../answer/packed-answer.ts'
import { packedAnswer } from '../answer/packed-answer.ts'
import { wayUp } from './way-up.ts'

/** Of a document whose scripts and styles are files of this service. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  // The forms have no action: their scripts send them.
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** The name of a file never gets another text. */
const forEver = { 'Cache-Control': 'public, max-age=31536000, immutable' }

/** A path with more words belongs to no view. */
const mostWords = 12

interface ReadySite {
  readonly files: ReadonlyMap<string, PackedAnswer>
  document(up: string): PackedAnswer
}

const ready = ({ files, document }: LoadedSite): ReadySite => {
  const documents = new Map<string, PackedAnswer>()
  return {
    files: new Map([...files].map(([name, { type, text }]) => [name, packedAnswer(type, text, forEver)])),
    document: (up) =>
      getOrMake(documents, up, () =>
        packedAnswer('text/html; charset=utf-8', document(up), {
          'Content-Security-Policy': policy,
        }),
      ),
  }
}

/**
 * Returns the answers of the sites by path: the document, one of its files, 404 for a file that does not exist, or
 * undefined outside of the sites.
 */
export const makeSites = (
  sites: readonly StaticSite[],
): ((
  path: string,
  endsInSlash: boolean,
  acceptEncoding: string | readonly string[] | undefined,
) => Answer | undefined) => {
  const loaded = new Map<string, ReadySite>()
  return (path, endsInSlash, acceptEncoding) => {
    const [, root = '', ...words] = path.split('/')
    const site = sites.find((each) => each.root === root)
    if (site === undefined || words.length > mostWords) return undefined
    const { files, document } = getOrMake(loaded, root, () => ready(site.load()))
    if (words[0] === 'files' && words.length === 2) return files.get(words[1] ?? '')?.(acceptEncoding)
    return document(`${wayUp(path, endsInSlash)}${root}/`)(acceptEncoding)
  }
}
