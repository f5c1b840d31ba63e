import { useEffect, useRef, useState } from 'preact/hooks'
import { screens } from '../screens.js'
import { fill, texts } from '../texts.js'
import { address, href, matchPath, navigate } from './address.js'
import { asApiError, isOffline, isSignedOut } from './client.js'
import { Dialog } from './dialog.js'
import { classes, html, useValue } from './html.js'
import { Icon } from './icons.js'
import { Notices } from './notices.js'
import { Page } from './page.js'
import { Placeholder, Problem } from './resource.js'
import { accountPage, checkSession, docsPage, signInHref, signOut } from './session.js'

/**
 * @import { AccountFacts, NavGroup, Screen, SessionFacts } from 'api-shapes'
 */

/** @param {string} path */
const ownerIn = (path) => {
  const [kind, owner = ''] = path.split('/').filter(Boolean)
  return kind === 'o' ? decodeURIComponent(owner) : undefined
}

/** The account whose views the navigation offers: that of the address, or the last one. */
let lastOwner = ''

/** @param {SessionFacts} session @param {string} path @returns {AccountFacts | undefined} */
const chosenAccount = ({ accounts }, path) => {
  const owner = ownerIn(path)
  if (owner !== undefined) lastOwner = owner
  return (
    accounts.find(({ name }) => name === lastOwner) ??
    (owner === undefined ? undefined : { id: 0, name: owner, title: owner, isOrganization: true }) ??
    accounts.find(({ isOrganization }) => isOrganization) ??
    accounts[0]
  )
}

/** @type {readonly NavGroup[]} */
const groups = ['home', 'work', 'organization', 'billing', 'vendor', 'site']

/** @param {Screen['deployments']} deployments @param {string} type */
const isDeployed = (deployments, type) =>
  deployments === undefined ||
  type.includes('Marketplace') ||
  (deployments === 'vendor-or-marketplace' && type === 'VendorHosted')

/** @param {Screen} screen @param {SessionFacts} session @param {AccountFacts | undefined} account */
const isOffered = ({ isFor = 'anyone', deployments }, session, account) =>
  isDeployed(deployments, session.branding?.deploymentType ?? '') &&
  (isFor === 'anyone' ||
    (isFor === 'organization' && account?.isOrganization === true) ||
    (isFor === 'site-admin' && session.isSiteAdmin))

/** Returns the address of the present view for another account, or of its first view. @param {Screen[]} offered @param {string} path @param {string} owner */
const viewOf = (offered, path, owner) => {
  const same = offered.find(({ path: pattern }) => pattern.includes(':owner') && matchPath(pattern, path) !== undefined)
  const pattern = (same ?? offered.find(({ path: each }) => each.includes(':owner')))?.path ?? '/'
  return href(pattern.replace(':owner', encodeURIComponent(owner)))
}

/** @param {{ session: SessionFacts, account: AccountFacts | undefined, path: string }} props */
const AccountChoice = ({ session, account, path }) => {
  const choose = (/** @type {any} */ event) => {
    const chosen = session.accounts.find(({ name }) => name === event.target.value)
    const offered = screens.filter((screen) => screen.nav !== undefined && isOffered(screen, session, chosen))
    navigate(viewOf(offered, path, event.target.value))
  }
  return html`
    <div class="account-choice">
      <label for="account-choice">${texts.shell.account}</label>
      <select id="account-choice" onChange=${choose}>
        ${session.accounts.map(({ name, title }) => html`<option key=${name} value=${name} selected=${name === account?.name}>${title}</option>`)}
        ${account && !session.accounts.includes(account) && html`<option value=${account.name} selected>${account.name}</option>`}
      </select>
    </div>
  `
}

/** @param {{ session: SessionFacts, account: AccountFacts | undefined, path: string, isOpen: boolean }} props */
const Navigation = ({ session, account, path, isOpen }) => {
  const offered = screens.filter((screen) => screen.nav !== undefined && isOffered(screen, session, account))
  return html`
    <nav id="navigation" class=${classes('navigation', isOpen && 'open')} aria-label=${texts.shell.navigation}>
      <${AccountChoice} session=${session} account=${account} path=${path} />
      ${groups.map((group) => {
        const items = offered
          .filter(({ nav }) => nav?.group === group)
          .sort((a, b) => (a.nav?.order ?? 0) - (b.nav?.order ?? 0))
        if (items.length === 0) return ''
        return html`
          <div key=${group} class="nav-group">
            ${texts.shell.groups[group] !== '' && html`<h2>${texts.shell.groups[group]}</h2>`}
            <ul>
              ${items.map(({ path: pattern, nav }) => {
                const target = pattern.replace(':owner', encodeURIComponent(account?.name ?? ''))
                const isHere = path === target || (target !== '/' && path.startsWith(`${target}/`))
                return html`<li key=${pattern}>
                  <a href=${href(target)} aria-current=${isHere ? 'page' : undefined}
                    ><${Icon} name=${nav?.icon} />${nav?.label}</a
                  >
                </li>`
              })}
            </ul>
          </div>
        `
      })}
    </nav>
  `
}

/** @param {{ session: SessionFacts, isOpen: boolean, toggle: () => void }} props */
const Header = ({ session: { user, branding }, isOpen, toggle }) => html`
  <header class="top">
    <button type="button" class="icon menu" aria-expanded=${isOpen} aria-controls="navigation" onClick=${toggle}>
      <${Icon} name="menu" /><span class="unseen">${texts.shell.navigation}</span>
    </button>
    <a class="brand" href=${href('/')}>
      ${branding?.logo ? html`<img src=${branding.logo} alt="" height="24" />` : html`<span class="mark" aria-hidden="true" />`}
      <span>${branding?.appName || texts.shell.product}</span>
    </a>
    <div class="top-end">
      <a href=${docsPage} target="_blank" rel="noreferrer">${texts.shell.docs}</a>
      <details class="menu-box">
        <summary>
          <${Icon} name="user" /><span class="name">${user.full_name || user.login}</span><${Icon} name="down" />
        </summary>
        <div class="menu-items">
          <p class="faint">${fill(texts.shell.signedInAs, { login: user.login })}</p>
          <a href=${accountPage}>${texts.shell.yourAccount}</a>
          <button type="button" onClick=${signOut}><${Icon} name="out" />${texts.shell.signOut}</button>
        </div>
      </details>
    </div>
  </header>
`

/** Asks to sign in again in another tab, and keeps what was typed in this one. */
const SignInAgain = () => html`
  <${Dialog} title=${texts.shell.sessionEnded}>
    <p>${texts.shell.sessionEndedHint}</p>
    <div class="actions">
      <button type="button" onClick=${checkSession}>${texts.shell.signedInAgain}</button>
      <a class="button primary" href=${signInHref} target="_blank" rel="noopener"
        >${texts.shell.signInAgain}<${Icon} name="external"
      /></a>
    </div>
  <//>
`

/**
 * @typedef {{ draw: (props: import('api-shapes').ScreenProps) => unknown } | { error: import('./client.js').ApiError }} Loading
 */

/** Draws the screen of the address, whose module is loaded at its first use. @param {{ session: SessionFacts }} props */
const View = ({ session }) => {
  const { path, query } = useValue(address)
  const found = screens
    .map((screen) => ({ screen, params: matchPath(screen.path, path) }))
    .find(({ params }) => params !== undefined)
  const pattern = found?.screen.path ?? ''
  const [loaded, setLoaded] = useState(/** @type {{ pattern: string, module: Loading } | undefined} */ (undefined))
  useEffect(() => {
    let isCurrent = true
    found?.screen.load().then(
      ({ screen }) => isCurrent && setLoaded({ pattern, module: { draw: screen } }),
      (error) => isCurrent && setLoaded({ pattern, module: { error: asApiError(error) } }),
    )
    return () => void (isCurrent = false)
  }, [pattern])
  if (found === undefined)
    return html`<${Page} title=${texts.shell.noView}
      ><p>${texts.shell.noViewHint}</p>
      <p><a href=${href('/')}>${texts.shell.toHome}</a></p><//
    >`
  if (loaded?.pattern !== pattern) return html`<${Placeholder} lines=${8} />`
  if ('error' in loaded.module)
    return html`<${Problem} error=${loaded.module.error} retry=${() => location.reload()} />`
  const Screen = loaded.module.draw
  // The key: another object of the same screen begins without the state of this one.
  return html`<${Screen} key=${path} params=${found.params ?? {}} query=${query} session=${session} />`
}

/** @param {{ session: SessionFacts }} props */
export const Shell = ({ session }) => {
  const [isOpen, setOpen] = useState(false)
  const { path } = useValue(address)
  const isOut = useValue(isSignedOut)
  const isCut = useValue(isOffline)
  const account = chosenAccount(session, path)
  const isFirst = useRef(true)
  useEffect(() => {
    setOpen(false)
    for (const box of document.querySelectorAll('details.menu-box[open]')) box.removeAttribute('open')
    // A new view is announced by its heading. The first one is announced by the browser.
    if (!isFirst.current) document.getElementById('main')?.focus({ preventScroll: true })
    isFirst.current = false
  }, [path])
  return html`
    <a
      class="skip"
      href="#main"
      onClick=${(/** @type {Event} */ event) =>
        (event.preventDefault(), document.getElementById('main')?.focus())}
      >${texts.shell.skip}</a
    >
    <${Header} session=${session} isOpen=${isOpen} toggle=${() => setOpen(!isOpen)} />
    <${Navigation} session=${session} account=${account} path=${path} isOpen=${isOpen} />
    <main id="main" tabindex="-1">
      ${
        isCut &&
        html`<div class="panel problem" role="alert">
          <${Icon} name="warning" />
          <p>${texts.shell.offline}</p>
        </div>`
      }
      <${View} session=${session} />
    </main>
    <${Notices} />
    ${isOut && html`<${SignInAgain} />`}
  `
}
