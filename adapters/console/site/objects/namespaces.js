import { useState } from 'preact/hooks'
import { address, changeQuery } from '../kit/address.js'
import { html, useValue } from '../kit/html.js'
import { useResource } from '../kit/resource.js'
import { texts } from '../texts.js'
import { listObjects } from './kubernetes.js'

const text = texts.namespaces

/** Returns the path of a list in one namespace, or in all of them. @param {string} path @param {string} namespace */
export const inNamespace = (path, namespace) =>
  namespace === '' ? path : path.replace(/\/([^/]+)$/, `/namespaces/${encodeURIComponent(namespace)}/$1`)

/** Returns the namespace that the address names; empty for all of them. */
export const useNamespace = () => useValue(address).query.get('namespace') ?? ''

const choose = (/** @type {string} */ namespace) => changeQuery({ namespace, page: undefined })

/** For callers who may not list namespaces, such as members of client organizations. @param {{ owner: string }} props */
const TypedNamespace = ({ owner }) => {
  const chosen = useNamespace()
  const [typed, setTyped] = useState(chosen || owner)
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault()
    choose(typed.trim())
  }
  return html`<form class="filter" onSubmit=${submit}>
    <label for="namespace">${text.namespace}</label>
    <input
      id="namespace"
      value=${typed}
      spellcheck=${false}
      onInput=${(/** @type {any} */ event) => setTyped(event.target.value)}
    />
    <button type="submit">${text.show}</button>
  </form>`
}

/** Chooses the namespace in which objects are read. @param {{ owner: string, cluster: string }} props */
export const NamespaceChoice = ({ owner, cluster }) => {
  const chosen = useNamespace()
  const { value, error } = useResource(`namespaces ${owner}/${cluster}`, (signal) =>
    listObjects({ owner, cluster, path: '/api/v1/namespaces', signal }),
  )
  if (error?.status === 403) return html`<${TypedNamespace} key=${chosen} owner=${owner} />`
  const names = new Set([...(value ?? []).map(({ metadata }) => metadata.name), ...(chosen === '' ? [] : [chosen])])
  return html`<div class="filter">
    <label for="namespace">${text.namespace}</label>
    <select id="namespace" onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
      <option value="" selected=${chosen === ''}>${text.all}</option>
      ${[...names].map((name) => html`<option key=${name} value=${name} selected=${name === chosen}>${name}</option>`)}
    </select>
  </div>`
}
