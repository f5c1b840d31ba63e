import { texts } from '../texts.js'
import { html } from '../kit/html.js'

/**
 * @import { Schemas } from 'api-shapes'
 */

/** @type {Record<string, string>} */
const kinds = { deployed: 'good', failed: 'bad', superseded: 'idle', uninstalled: 'idle' }

/** What a release shows: `info` and `chart` are free objects in the form of Helm. @param {Schemas['Release']} release */
export const factsOf = ({ info, chart }) => {
  const { status, last_deployed, description, notes } = /** @type {Record<string, any>} */ (info)
  const metadata = /** @type {Record<string, any>} */ (chart)['metadata'] ?? {}
  return {
    status: String(status ?? ''),
    at: String(last_deployed ?? ''),
    description: String(description ?? ''),
    notes: String(notes ?? ''),
    chart: String(metadata.name ?? ''),
    version: String(metadata.version ?? ''),
    appVersion: String(metadata.appVersion ?? ''),
  }
}

/** @param {{ status: string }} props */
export const ReleaseStatus = ({ status }) => html`
  <span class="badge ${kinds[status] ?? 'busy'}"
    >${texts.releases.states[/** @type {keyof typeof texts.releases.states} */ (status)] ?? status}</span
  >
`

/** Returns a text as base64 of its UTF-8. @param {string} text */
export const base64 = (text) =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''))
