import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { fill, texts } from '../texts.js'
import { mayLeave } from './address.js'
import { asApiError, newKey } from './client.js'
import { html } from './html.js'
import { Icon } from './icons.js'
import { Problem } from './resource.js'

/**
 * A modal dialog. The browser keeps the focus in it, and returns the focus when it closes.
 *
 * @param {{ title: string, onClose?: () => void, children?: unknown, isWide?: boolean }} props without `onClose` it
 *   cannot be closed
 */
export const Dialog = ({ title, onClose, children, isWide = false }) => {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null))
  const id = useId()
  useEffect(() => {
    const opened = box.current
    const opener = document.activeElement
    if (opened?.open === false) opened.showModal()
    // The browser takes the first button, which closes the dialog.
    const first = opened?.querySelector('.dialog-body :is(input, select, textarea, a, button)')
    if (first instanceof HTMLElement) first.focus()
    return () => {
      opened?.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault()
    if (mayLeave()) onClose?.()
  }
  return html`
    <dialog ref=${box} class=${isWide ? 'wide' : ''} aria-labelledby=${id} onCancel=${cancel}>
      <div class="dialog-head">
        <h2 id=${id}>${title}</h2>
        ${
          onClose &&
          html`<button type="button" class="icon" aria-label=${texts.common.close} onClick=${onClose}>
            <${Icon} name="close" />
          </button>`
        }
      </div>
      <div class="dialog-body">${children}</div>
    </dialog>
  `
}

/**
 * Runs what was asked about when the form of the question is sent: once at a time, and with the same idempotency key
 * after a failure. Closes when it resolves.
 *
 * @param {(idempotencyKey: string) => Promise<unknown>} act
 * @param {() => void} onClose
 * @param {boolean} [isGiven] whether the answer is complete
 */
const useAnswer = (act, onClose, isGiven = true) => {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState(/** @type {import('./client.js').ApiError | undefined} */ (undefined))
  const key = useRef(newKey())
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault()
    if (isBusy || !isGiven) return
    setBusy(true)
    setError(undefined)
    try {
      await act(key.current)
      onClose()
    } catch (cause) {
      setError(asApiError(cause))
      setBusy(false)
    }
  }
  return { isBusy, error, submit }
}

/**
 * Asks before something is destroyed: says what is lost, and wants its name typed.
 *
 * @param {{ title: string, losses: string[], name: string, action: string, act: (idempotencyKey: string) => Promise<unknown>, onClose: () => void, children?: unknown }} props
 *   `act` runs when the name is typed; the dialog closes when it resolves
 */
export const DestroyDialog = ({ title, losses, name, action, act, onClose, children }) => {
  const [typed, setTyped] = useState('')
  const id = useId()
  const { isBusy, error, submit } = useAnswer(act, onClose, typed === name)
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form class="form" onSubmit=${submit}>
        <p class="strong">${texts.dialog.lost}</p>
        <ul class="losses">
          ${losses.map((loss) => html`<li key=${loss}>${loss}</li>`)}
        </ul>
        ${children}
        <div class="field">
          <label for=${id}>${fill(texts.dialog.typeName, { name })}</label>
          <input
            id=${id}
            type="text"
            autocomplete="off"
            spellcheck=${false}
            value=${typed}
            onInput=${(/** @type {any} */ event) => setTyped(event.target.value)}
          />
        </div>
        ${error && html`<${Problem} error=${error} />`}
        <div class="actions">
          <button type="button" onClick=${onClose}>${texts.common.cancel}</button>
          <button type="submit" class="danger" disabled=${typed !== name || isBusy}>${action}</button>
        </div>
      </form>
    <//>
  `
}

/**
 * Asks before something that is not easily undone. A second click does nothing.
 *
 * @param {{ title: string, action: string, act: (idempotencyKey: string) => Promise<unknown>, onClose: () => void, children?: unknown }} props
 *   the dialog closes when `act` resolves
 */
export const ConfirmDialog = ({ title, action, act, onClose, children }) => {
  const { isBusy, error, submit } = useAnswer(act, onClose)
  return html`
    <${Dialog} title=${title} onClose=${onClose}>
      <form class="form" onSubmit=${submit}>
        <p>${children}</p>
        ${error && html`<${Problem} error=${error} />`}
        <div class="actions">
          <button type="button" onClick=${onClose}>${texts.common.cancel}</button>
          <button type="submit" class="primary" aria-disabled=${isBusy}>${action}</button>
        </div>
      </form>
    <//>
  `
}
