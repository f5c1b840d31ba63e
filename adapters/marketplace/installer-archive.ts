import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  sign,
  timingSafeEqual,
} from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { createGzip } from 'node:zlib'
import { CORE_SCHEMA, dump, load } from 'js-yaml'
import { pack } from 'tar-stream'
import { isObject, toWireJson } from '../../core/kernel/json.ts'
import type { Secret } from '../../core/kernel/secret.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { ArchiveContent, ArchiveLinks, InstallerArchive, SigningKeyStore } from '../../core/marketplace/ports.ts'

const makeKeyPair = promisify(generateKeyPair)

const makeKey = async () => {
  const { privateKey } = await makeKeyPair('ed25519')
  return secret(privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
}

const readme = ({ installerRef, marketplace, createdAt }: ArchiveContent): string => `Installer ${installerRef}
Marketplace: ${marketplace}
Created: ${createdAt.toISOString()}

  verify.sh     checks the files of this archive against SHA256SUMS and its signature
  install.sh    installs the chart on the cluster of the current kubeconfig, with values.yaml
  values.yaml   values of this installation

Verify the archive with the public key that the vendor publishes, not with a key from an unknown source:

  ./verify.sh public-key.pem

Install, or install again with the same values:

  CHART=oci://registry.example/charts/product ./install.sh
`

const verifyScript = `#!/bin/sh
# Checks this archive: verify.sh PUBLIC-KEY.pem
set -eu
cd "$(dirname "$0")"
key=\${1:?name the file with the public key of the vendor}
openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig
sha256sum -c SHA256SUMS
`

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const installScript = ({ chart, chartVersion }: ArchiveContent): string => `#!/bin/sh
# Installs the chart, or upgrades it. Helm and a kubeconfig of the cluster are needed. Arguments are passed to helm.
set -eu
cd "$(dirname "$0")"
sha256sum -c SHA256SUMS >/dev/null
default_chart=${quoted(chart)}
default_version=${quoted(chartVersion)}
chart=\${CHART:-$default_chart}
version=\${CHART_VERSION:-$default_version}
: "\${chart:?set CHART to the chart of the product}"
release=\${RELEASE:-moorage-installation}
namespace=\${NAMESPACE:-moorage-installation}
set -- --values values.yaml --wait "$@"
set -- upgrade --install "$release" "$chart" --namespace "$namespace" --create-namespace "$@"
if [ -n "$version" ]; then set -- "$@" --version "$version"; fi
exec helm "$@"
`

const valuesOf = (text: string): Readonly<Record<string, unknown>> | undefined => {
  if (text.trim() === '') return {}
  try {
    const values = load(text, { schema: CORE_SCHEMA })
    return isObject(values) ? values : undefined
  } catch {
    return undefined
  }
}

const valuesFile = (content: ArchiveContent): string =>
  dump({
    ...valuesOf(content.values),
    marketplace: {
      name: content.marketplace,
      installerId: content.installerRef,
      claimID: content.claimRef,
      notificationURL: content.notificationUrl,
      claimableURL: content.claimableUrl,
      products: content.products.map(({ product, features }) => ({ product, features: [...features] })),
    },
  })

interface ArchivedFile {
  readonly name: string
  readonly bytes: Buffer
  readonly mode: number
}

const tarOf = async (files: readonly ArchivedFile[], mtime: Date): Promise<Uint8Array> => {
  const archive = pack()
  const written = buffer(archive.pipe(createGzip({ level: 9 })))
  for (const { name, bytes, mode } of files) archive.entry({ name: `installer/${name}`, mode, mtime }, bytes)
  archive.finalize()
  return written
}

/** A chart that helm takes on its command line, not an option. */
const chartForm = /^(?:[a-z0-9]+:\/\/)?[\w][\w./:@-]{0,400}$/i
const mostValues = 262_144

/** InstallerArchive as a gzipped tar file, signed with Ed25519. */
export const makeInstallerArchive = (keys: SigningKeyStore): InstallerArchive => {
  const keyOf = async () => createPrivateKey((await keys.obtain(makeKey)).reveal())
  return {
    faultOf({ chart, values }) {
      if (chart !== '' && !chartForm.test(chart)) return 'The chart must be a reference such as oci://HOST/PATH/NAME.'
      if (values.length > mostValues) return `The values have at most ${mostValues} characters.`
      return valuesOf(values) === undefined ? 'The values must be a YAML mapping.' : undefined
    },
    async build(content) {
      const script = (name: string, text: string) => ({ name, bytes: Buffer.from(text), mode: 0o755 })
      const text = (name: string, body: string | Buffer) => ({ name, bytes: Buffer.from(body), mode: 0o644 })
      const files = [
        text('README.txt', readme(content)),
        script('install.sh', installScript(content)),
        text('values.yaml', valuesFile(content)),
        script('verify.sh', verifyScript),
      ]
      const sums = files
        .map(({ name, bytes }) => `${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`)
        .join('')
      const signature = sign(null, Buffer.from(sums), await keyOf())
      return tarOf([...files, text('SHA256SUMS', sums), text('SHA256SUMS.sig', signature)], content.createdAt)
    },
    publicKey: async () => createPublicKey(await keyOf()).export({ type: 'spki', format: 'pem' }) as string,
  }
}

export interface ArchiveLinkOptions {
  /** HMAC-SHA256 key of the links. */
  readonly key: Secret<Uint8Array>
  /** Returns the URL of the route that serves links, without a trailing slash. */
  readonly routeUrl: () => string
}

/** ArchiveLinks to this service, signed with HMAC-SHA256. */
export const makeArchiveLinks = ({ key, routeUrl }: ArchiveLinkOptions): ArchiveLinks => {
  const signatureOf = (installerRef: string, expires: number): Buffer =>
    createHmac('sha256', key.reveal())
      .update(toWireJson([installerRef, expires]))
      .digest()
  return {
    make(installerRef, until) {
      const expires = until.getTime()
      const signature = signatureOf(installerRef, expires).toString('base64url')
      const query = new URLSearchParams({ expires: String(expires), signature })
      return `${routeUrl()}/${installerRef}?${query.toString()}`
    },
    isSigned({ installerRef, expires, signature }) {
      const given = Buffer.from(signature, 'base64url')
      const expected = signatureOf(installerRef, expires)
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}
