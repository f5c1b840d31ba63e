import { signal } from '@preact/signals-core'
import { texts } from '../texts.js'
import { asApiError } from './client.js'
import { html, useValue } from './html.js'
import { Icon } from './icons.js'

/** @typedef {{ id: number, kind: 'done' | 'problem', text: string }} Notice */

/** @type {import('@preact/signals-core').Signal<Notice[]>} */
const notices = signal([])
let lastId = 0

/** How long a notice of success is shown, in milliseconds. Problems stay until they are closed. */
const shownMs = 6_000

/** @param {number} id */
const close = (id) => {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}

/**
 * Shows a short text, which a screen reader reads out.
 *
 * @param {string} text
 * @param {'done' | 'problem'} [kind]
 */
export const notify = (text, kind = 'done') => {
  const id = ++lastId
  notices.value = [...notices.value.slice(-3), { id, kind, text }]
  if (kind === 'done') setTimeout(() => close(id), shownMs)
}

/** Shows why a request failed. @param {unknown} error */
export const notifyFailure = (error) => notify(asApiError(error).message, 'problem')

/** The live region of the console. It exists before the first notice, or a screen reader would miss that one. */
export const Notices = () => html`
  <div class="notices" role="status" aria-live="polite">
    ${useValue(notices).map(
      ({ id, kind, text }) => html`
        <div key=${id} class="notice ${kind}">
          <${Icon} name=${kind === 'done' ? 'check' : 'warning'} />
          <p>${text}</p>
          <button type="button" class="icon" aria-label=${texts.common.close} onClick=${() => close(id)}>
            <${Icon} name="close" />
          </button>
        </div>
      `,
    )}
  </div>
`
