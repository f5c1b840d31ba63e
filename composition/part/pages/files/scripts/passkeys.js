import { ask, tell } from './kit.js'

/** Whether the browser offers passkeys at this address: they belong to the name of a host, never to an IP address. */
export const hasPasskeySupport =
  typeof PublicKeyCredential === 'function' &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function' &&
  !/^[\d.]+$|:/.test(location.hostname)

/** The request that the autofill of a field waits for. Browsers serve one request at a time. */
let waiting

/** Withdraws the offer of passkeys by autofill. */
export const endAutofill = () => {
  waiting?.abort()
  waiting = undefined
}

/**
 * Offers passkeys in the autofill of the field with `autocomplete="webauthn"`, and calls `act` with the response of the
 * one that the user chooses. Without any it says nothing.
 */
export const offerByAutofill = async (path, act) => {
  if (!hasPasskeySupport || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return
  endAutofill()
  const own = new AbortController()
  waiting = own
  const offer = await ask('POST', path)
  if (offer.status !== 200 || own.signal.aborted) return
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(offer.json.publicKey)
  const chosen = await navigator.credentials
    .get({ publicKey, mediation: 'conditional', signal: own.signal })
    .catch(() => undefined)
  if (!chosen || waiting !== own) return
  waiting = undefined
  await act(chosen.toJSON())
}

/** Asks the service for options and the user for a passkey. Says why there is no response. */
const responseTo = async (path, body, use) => {
  const offer = await ask('POST', path, body)
  if (offer.status !== 200) return tell(offer.message, true)
  endAutofill()
  try {
    return (await use(offer.json.publicKey)).toJSON()
  } catch (error) {
    tell(
      error.name === 'InvalidStateError'
        ? 'This device or security key has a passkey of your account already.'
        : 'No passkey was used. Try again, or choose another way.',
      true,
    )
    return undefined
  }
}

/** Returns the response of one of the passkeys that the options allow; undefined if there is none. */
export const usePasskey = (path) =>
  responseTo(path, undefined, (options) =>
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }),
  )

/** Returns the response with a new passkey; undefined if there is none. */
export const makePasskey = (path, body) =>
  responseTo(path, body, (options) =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }),
  )

/** Runs `act` when the button is pressed, once at a time. */
export const onPress = (button, act) =>
  button.addEventListener('click', async () => {
    if (button.disabled) return
    button.disabled = true
    tell('')
    try {
      await act()
    } finally {
      button.disabled = false
    }
  })
