import { pathOf } from '../../kit/address.js'
import { html } from '../../kit/html.js'
import { Page } from '../../kit/page.js'
import { TaskProgress } from '../../kit/tasks.js'
import { texts } from '../../texts.js'

/** @param {import('api-shapes').ScreenProps} props */
export const screen = ({ params: { owner = '', id = '' } }) => html`
  <${Page} title=${texts.taskList.task} up=${[[pathOf('o', owner, 'tasks'), texts.taskList.title]]}
    ><${TaskProgress} id=${id}
  /><//>
`
