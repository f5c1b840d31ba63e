import { loadConsoleSite } from '../../adapters/console/console-site.ts'
import { consolePlugin } from '../../plugins/console/plugin.ts'
import { renderPage } from '../part/pages/web-page.ts'
import { definePart } from '../part/part.ts'
import { withDefault } from '../part/setting.ts'
import { wordOf } from '../part/setting-type.ts'

/** The web console. It is a client of the API, with the session of its user. */
export const part = definePart({
  plugin: consolePlugin,
  settings: {
    console: withDefault(
      'MOORAGE_CONSOLE',
      wordOf('on', 'off'),
      'on',
      'Whether the web console is served at /console. The API is the same without it.',
    ),
  },
  isWanted: ({ console }) => console === 'on',
  sites: [
    {
      root: 'console',
      title: 'Console',
      summary: 'Organizations, clusters, packages, contracts and usage',
      load() {
        const { files, scripts, styles } = loadConsoleSite()
        return { files, document: (up) => renderPage('console', { up, scripts, styles, start: scripts[0] }) }
      },
    },
  ],
})
