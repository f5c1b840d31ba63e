import { effect } from '@preact/signals-core'
import htm from 'htm'
import { h } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Returns the elements of a template. Values are inserted as text; there is no way to insert HTML. */
export const html = htm.bind(h)

/**
 * Returns the value of a signal, and draws the component again when it changes.
 *
 * @template T
 * @param {import('@preact/signals-core').ReadonlySignal<T>} source
 * @returns {T}
 */
export const useValue = (source) => {
  const [value, setValue] = useState(() => source.peek())
  useEffect(
    () =>
      effect(() => {
        const next = source.value
        setValue(() => next)
      }),
    [source],
  )
  return value
}

/** @param {...(string | false | undefined)} names */
export const classes = (...names) => names.filter(Boolean).join(' ')
