import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../../kernel/failure.ts'
import type { FreeObject } from '../../kernel/json.ts'
import type { Chart, ChartTexts } from '../charts/ports.ts'
import type { ManifestObject } from '../../formats/kubernetes/objects.ts'
import { groupVersionOf } from '../../formats/kubernetes/objects.ts'
import { objectsOf } from '../releases/kubernetes-objects.ts'
import type { HelmRendering } from '../releases/ports.ts'
import { own, ownText } from '../../kernel/json.ts'
import { EditorUnfit } from './ports.ts'
import type { MissingObject, ResourceFile } from './types.ts'

/**
 * Words that keys of editor models write in capitals after the first word. They are part of the interface: a key made
 * by other rules does not match any key in a chart's values.
 */
const acronyms: ReadonlySet<string> = new Set(
  (
    'ACK ACL ADSL AES ANSI API ARP ATM BGP BSS CCITT CHAP CIDR CIR CLI CMOS CPE CPU CRC CRT CSMA DCE DEC ' +
    'DES DHCP DMI DNS DRAM DSL ' +
    'DSLAM DTE EHA EIA EIGRP EOF ESS FCC FCS FDDI FTP GBIC GEPOF HDLC HTML HTTP HTTPS IANA ICMP ID IDF IDS ' +
    'IEEE IETF IMAP IP IPS ' +
    'ISDN ISP JSON JWT LACP LAN LAPB LAPF LLC MAC MC MDF MIB MPLS MTU NAC NAT NBMA NIC NRZ NRZI NVRAM OIDC ' +
    'OK OSI OSPF OUI PAP PAT ' +
    'PC PCM PDU PIM POP3 POTS PPP PPTP PTT PVST RAM RARP RCP RFC RIP RLL ROM RSTP RTP SDLC SFD SFP SLARP ' +
    'SLIP SMTP SNA SNAP SNMP ' +
    'SOF SQL SRAM SSH SSID STP SYN TDM TFTP TIA TOFU UDP URI URL USB UTF8 UTP UUID VC VLAN VLSM VPN W3C WAN WEP WPA WWW'
  ).split(' '),
)

const separators = /[\s_:/-]/
const capital = /\p{Lu}/u
const kept = /[\p{L}\p{Nd}\p{P}`]/u
const letterOrDigit = /[^\p{L}\p{Nd}]/gu

/** Longer than any Kubernetes name. */
const maxLength = 512

const asWord = (text: string): string => {
  const trimmed = text.replace(/^[\s_:/-]+|[\s_:/-]+$/g, '')
  const upper = trimmed.toUpperCase()
  return acronyms.has(upper) ? upper : trimmed
}

/**
 * Splits at separators and before a capital letter that does not follow another one; acronyms are returned in capitals.
 */
const wordsOf = (whole: string): readonly string[] => {
  const text = whole.trim().slice(0, maxLength)
  const words: string[] = []
  let word = ''
  let isAfterCapital = false
  for (const sign of text) {
    const isCapital = capital.test(sign)
    const startsWord = separators.test(sign) || (isCapital && !isAfterCapital)
    if (startsWord || !kept.test(sign)) {
      words.push(asWord(word))
      word = startsWord ? sign : ''
    } else word += sign
    isAfterCapital = isCapital
  }
  words.push(asWord(word))
  const only = asWord(text)
  return acronyms.has(only)
    ? [only]
    : words.map((part) => part.replace(letterOrDigit, '')).filter((part) => part !== '')
}

const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** `kubedb_com` is `kubedbCom`, `MongoDB` is `mongoDB`, `API` is `api`. @internal */
export const camelCase = (text: string): string => {
  const [first = '', ...rest] = wordsOf(text)
  return first.toLowerCase() + rest.map(capitalised).join('')
}

/** `kubedb_com` is `KubedbCom`. @internal */
export const pascalCase = (text: string): string => capitalised(camelCase(text))

/** `MongoDB` is `mongo_db`, `-my-config` is `my_config`. @internal */
export const snakeCase = (text: string): string => wordsOf(text).join('_').toLowerCase()

/** `my_config` is `my-config`. @internal */
export const dashCase = (text: string): string => wordsOf(text).join('-').toLowerCase()

/** The parts of a key or file name. */
export interface NamedResource {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
}

const groupWord = (apiVersion: string): string =>
  pascalCase(
    groupVersionOf(apiVersion)
      .group.replace(/\.k8s\.io$/, '')
      .replace(/\.kubernetes\.io$/, '')
      .replaceAll('.', '_'),
  )

const behind = (name: string, prefix: string): string => (name.startsWith(prefix) ? name.slice(prefix.length) : name)

/**
 * Returns the key of an object in a model: `kubedbComMongoDB`, `appApplication`, `secret_config`.
 * @param releaseName the prefix of the names of the release's objects; empty in feature-set editors, whose objects have
 * names of their own.
 */
export const resourceKey = ({ apiVersion, kind, name }: NamedResource, releaseName: string): string => {
  const key = camelCase(groupWord(apiVersion) + kind)
  const suffix = snakeCase(behind(name, releaseName))
  return suffix === '' ? key : `${key}_${suffix}`
}

/**
 * Returns the part of a key after the kind, as it appears in a name: `config` of `secret_config`; empty if there is
 * none.
 */
export const nameSuffixOf = (key: string): string => {
  const at = key.indexOf('_')
  return at === -1 ? '' : dashCase(key.slice(at + 1))
}

/** Returns the name of the object with this key in a release. */
export const nameOfKey = (key: string, releaseName: string): string => {
  const suffix = nameSuffixOf(key)
  return suffix === '' ? releaseName : `${releaseName}-${suffix}`
}

const candidates = ({ apiVersion, kind, name }: NamedResource, releaseName: string): readonly string[] => {
  const suffix = pascalCase(behind(name, releaseName).replaceAll('.', '-'))
  return [snakeCase(kind), snakeCase(kind + suffix), snakeCase(groupWord(apiVersion) + kind + suffix)]
}

const counters = (words: readonly string[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return counts
}

/**
 * Returns unique file names without extension, in the order of the objects: the kind alone if it is unique, else with
 * the name's suffix, else also with the group, and finally with a number.
 *
 * @internal
 */
export const resourceFilenames = (resources: readonly NamedResource[], releaseName: string): readonly string[] => {
  const choices = resources.map((resource) => candidates(resource, releaseName))
  const counts = [0, 1, 2].map((length) => counters(choices.map((choice) => choice[length] ?? '')))
  const taken = new Set<string>()
  return choices.map((choice) => {
    const free =
      choice.find((word, length) => (counts[length]?.get(word) ?? 0) === 1 && !taken.has(word)) ?? choice[2] ?? ''
    let name = free
    for (let number = 2; taken.has(name); number++) name = `${free}_${number}`
    taken.add(name)
    return name
  })
}

const hasEvent = (hook: FreeObject, event: string): boolean => {
  const events = own(hook, 'events')
  return Array.isArray(events) && events.includes(event)
}

const hookText = (hook: FreeObject): string =>
  `---\n# Source: ${ownText(hook, 'path')}\n${ownText(hook, 'manifest').trim()}\n`
const hooksOf = ({ hooks }: HelmRendering, event: string): string =>
  hooks
    .filter((hook) => hasEvent(hook, event))
    .map(hookText)
    .join('')

/**
 * Returns everything that an installation creates, in order: hooks before, manifests, hooks after. Each follows a `#
 * Source:` comment.
 */
export const renderedText = (rendering: HelmRendering): string => {
  const manifest = rendering.manifest.trim()
  return (
    hooksOf(rendering, 'pre-install') +
    (manifest === '' ? '' : `${manifest.startsWith('---') ? '' : '---\n'}${manifest}\n`) +
    hooksOf(rendering, 'post-install')
  )
}

/** Maximum number of objects of one installation. */
export const maxObjects = 2000

/**
 * Returns the objects of a manifest, in order; list items are separate objects. Failure: EditorUnfit if an object has
 * no name or there are too many.
 */
export const parseManifest = async (
  texts: Pick<ChartTexts, 'parseAll'>,
  text: string,
): Outcome<Failure<'EditorUnfit'>, readonly ManifestObject[]> => {
  const objects = await objectsOf(texts, text)
  if (isLeft(objects)) return left(EditorUnfit(`The chart renders what cannot be read: ${objects.left.message}`))
  if (objects.right.length > maxObjects)
    return left(EditorUnfit(`The chart renders ${objects.right.length} objects; at most ${maxObjects} are taken.`))
  const isWhole = objects.right.every(({ apiVersion, name }) => apiVersion !== '' && name !== '')
  return isWhole ? objects : left(EditorUnfit('The chart renders an object without apiVersion or metadata.name.'))
}

/** Prints one object in the requested format. */
export interface ObjectPrinter {
  readonly ending: 'json' | 'yaml'
  print(object: FreeObject): Promise<string>
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byKind = (a: ManifestObject, b: ManifestObject): number =>
  compare(a.apiVersion, b.apiVersion) || compare(a.kind, b.kind) || compare(a.name, b.name)

/** Returns one file per object, named by apiVersion, kind and name. */
export const resourceFiles = async (
  objects: readonly ManifestObject[],
  releaseName: string,
  printer: ObjectPrinter,
): Promise<readonly ResourceFile[]> => {
  const sorted = [...objects].sort(byKind)
  const filenames = resourceFilenames(sorted, releaseName)
  const files: ResourceFile[] = []
  for (const [index, object] of sorted.entries()) {
    const data = await printer.print(object.body)
    files.push({ filename: `${filenames[index] ?? ''}.${printer.ending}`, key: resourceKey(object, releaseName), data })
  }
  return files
}

const isCrdFile = (path: string): boolean => /^(charts\/[^/]+\/)*crds\/.+\.(ya?ml|json)$/.test(path)

/** Returns the files under `crds/` of a chart and its subcharts, by path. */
export const crdFilesOf = (chart: Chart): readonly { readonly path: string; readonly bytes: Uint8Array }[] =>
  [...chart.files]
    .filter(([path]) => isCrdFile(path))
    .map(([path, bytes]) => ({ path, bytes }))
    .sort((a, b) => compare(a.path, b.path))

/** Returns one file per CRD, named after its source file, with a number if that file contains several. */
export const crdFiles = async (
  files: readonly { readonly path: string; readonly objects: readonly ManifestObject[] }[],
  printer: ObjectPrinter,
): Promise<readonly ResourceFile[]> => {
  const printed: ResourceFile[] = []
  for (const { path, objects } of files) {
    const stem = path.slice(path.lastIndexOf('/') + 1).replace(/\.[^.]+$/, '')
    for (const [index, { body }] of objects.entries()) {
      printed.push({
        filename: `${stem}${index === 0 ? '' : `_${index + 1}`}.${printer.ending}`,
        key: undefined,
        data: await printer.print(body),
      })
    }
  }
  return printed
}

/** Returns the reason why an object is missing from a text, as one comment line. */
const missingLine = ({ apiVersion, kind, namespace, name, reason }: MissingObject): string =>
  `# ${reason === 'forbidden' ? 'Not shown to you' : 'Not in the cluster'}: ${apiVersion} ${kind} ${namespace}/${name}`.replace(
    /[^\x20-\x7e]/g,
    '?',
  ) + '\n'

/** Returns objects as one multi-document YAML text, preceded by comments on missing objects. */
export const documentsText = async (
  objects: readonly ManifestObject[],
  missing: readonly MissingObject[],
  texts: Pick<ChartTexts, 'print'>,
): Promise<string> => {
  const parts = missing.map(missingLine)
  for (const { body } of objects) parts.push(`---\n${await texts.print(body)}`)
  return parts.join('')
}
