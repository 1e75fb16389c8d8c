// What a page of the dashboard does by itself: sends answers, follows a run, takes keys. It shows what the server has
// made and makes no text of its own out of what runs say.
"use strict";

(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const base = document.body.dataset.base;
  const csrf = document.querySelector('meta[name="csrf"]').content;

  const announce = (text) => {
    const said = document.getElementById("said");
    if (said) said.textContent = text;
  };

  const post = async (path, body) => {
    let response;
    try {
      response = await fetch(base + path, {
        method: "POST",
        headers: { "content-type": "application/json", "x-adjutant-csrf": csrf },
        body: JSON.stringify(body),
        credentials: "same-origin",
        redirect: "error",
      });
    } catch {
      throw new Error("the dashboard does not answer: is it still running?");
    }
    const said = await response.json().catch(() => ({ error: "the answer can't be read" }));
    if (!response.ok) {
      const error = new Error(said.hint ? `${said.error}: ${said.hint}` : said.error);
      error.status = response.status;
      throw error;
    }
    return said;
  };

  const tell = (form, text, refused) => {
    const came = form.querySelector(".came");
    came.classList.toggle("refused", Boolean(refused));
    came.textContent = text;
    // What had the focus was switched off meanwhile: whoever goes by keys goes on from what came of it.
    if (document.activeElement === document.body) {
      came.tabIndex = -1;
      came.focus();
    }
    if (came.offsetParent === null) announce(text);
  };

  const busy = (form, is) => {
    for (const control of form.querySelectorAll("button, input, textarea")) control.disabled = is;
  };

  const answer = async (form) => {
    const chosen = form.querySelector('input[name="choice"]:checked');
    if (!chosen) return tell(form, "choose an answer first", true);
    const words = form.querySelector("textarea").value;
    if (chosen.dataset.words === "true" && !words.trim()) {
      form.querySelector("textarea").focus();
      return tell(form, "write the words of your answer first", true);
    }
    const body = { ids: form.dataset.ids.split("\n"), choice: chosen.value };
    if (words.trim()) body.text = words;
    busy(form, true);
    try {
      const came = await post("/answer", body);
      const lost = came.filter((one) => !one.is_ours);
      if (came.length === 1) {
        tell(form, came[0].said, lost.length > 0);
      } else {
        const late = lost.map((one) => `${one.id}: ${one.said}`).join("; ");
        const first = came.find((one) => one.is_ours && one.said.includes("; "));
        const then = first ? `; the first: ${first.said}` : "";
        const count = `${came.length - lost.length} of ${came.length} answered`;
        tell(form, `${count}${late ? `; ${late}` : then}`, lost.length > 0);
      }
      form.dataset.done = "true";
    } catch (error) {
      busy(form, false);
      tell(form, error.message, true);
    }
  };

  const say = async (form, body) => {
    busy(form, true);
    try {
      tell(form, (await post(`/runs/${encodeURIComponent(form.dataset.run)}/say`, body)).said);
      if (body.what === "steer") form.querySelector("textarea").value = "";
      busy(form, false);
    } catch (error) {
      busy(form, false);
      tell(form, error.message, true);
    }
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.matches("form.answer")) {
      event.preventDefault();
      answer(form);
    } else if (form.matches("form.say")) {
      event.preventDefault();
      say(form, { what: "steer", text: form.querySelector("textarea").value });
    }
  });

  // Applying and removing a profile: what was shown, and nothing else.
  const profile = document.querySelector("form.profile");
  const CAME = "adjutant-came";
  // The page is made anew, since nothing on it is as it was, and says what came of it.
  const reload = (text, refused) => {
    try {
      sessionStorage.setItem(CAME, JSON.stringify({ text, refused, path: location.pathname }));
    } catch {
      // Then the new page says it by what it shows.
    }
    location.reload();
  };
  const change = async (act, body) => {
    busy(profile, true);
    try {
      reload((await post(`/profile/${encodeURIComponent(profile.dataset.project)}/${act}`, body)).said, false);
    } catch (error) {
      if (error.status === 409) return reload(error.message, true);
      busy(profile, false);
      tell(profile, error.message, true);
    }
  };
  if (profile) {
    try {
      const came = JSON.parse(sessionStorage.getItem(CAME));
      sessionStorage.removeItem(CAME);
      if (came && came.path === location.pathname) tell(profile, came.text, came.refused);
    } catch {
      // There is nothing to say.
    }
    profile.addEventListener("submit", (event) => {
      event.preventDefault();
      change("apply", { mark: profile.dataset.mark, as_of: profile.dataset.asOf });
    });
    const sure = document.getElementById("sure");
    document.getElementById("reset")?.addEventListener("click", () => {
      sure.returnValue = "no";
      sure.showModal();
    });
    sure.addEventListener("close", () => {
      if (sure.returnValue === "reset") change("reset", { mark: profile.dataset.applied });
    });
  }

  // Pause and stop.
  const speaking = document.querySelector("form.say");
  if (speaking) {
    document.getElementById("pause").addEventListener("click", () => say(speaking, { what: "pause" }));
    const sure = document.getElementById("sure");
    document.getElementById("stop").addEventListener("click", () => {
      sure.returnValue = "no";
      sure.showModal();
    });
    sure.addEventListener("close", () => {
      if (sure.returnValue === "stop") say(speaking, { what: "stop" });
    });
  }

  // Markup that the server has made and escaped.
  const made = (html) => {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content;
  };

  // Following a run.
  const MOMENTS_MAX = 1000;
  const list = document.querySelector("[data-follow]");
  if (list) {
    const button = document.getElementById("follow");
    let source = null;
    let last = list.dataset.after;
    let over = false;
    let fresh = 0;
    let stood = null;
    let saidAt = 0;
    let missing = null;
    const lost = document.getElementById("lost");

    // A server that is gone is noticed by its silence: the browser tries again, and says nothing.
    const reached = () => {
      clearTimeout(missing);
      missing = null;
      if (!lost.hidden) announce("The dashboard answers again");
      lost.hidden = true;
    };
    const unreached = () => {
      if (missing !== null) return;
      missing = setTimeout(() => {
        lost.hidden = false;
        announce(lost.textContent);
      }, 3000);
    };

    const isAtEnd = () => list.getBoundingClientRect().bottom <= window.innerHeight + 80;

    const append = (event) => {
      const stay = !isAtEnd();
      const content = made(JSON.parse(event.data).html);
      const item = content.firstElementChild;
      last = event.lastEventId;
      if (!item || document.getElementById(item.id)) return;
      item.classList.add("fresh");
      list.append(content);
      while (list.children.length > MOMENTS_MAX) list.firstElementChild.remove();
      if (item.offsetParent !== null) fresh += 1;
      if (!stay) item.scrollIntoView({ block: "nearest" });
    };

    const questions = document.getElementById("questions");
    const showHead = (event) => {
      const head = JSON.parse(event.data);
      document.getElementById("status").replaceChildren(made(head.status));
      const open = new Set(head.questions.map((one) => one.id));
      for (const old of [...questions.children]) {
        if (open.has(old.dataset.short)) continue;
        if (old.contains(document.activeElement)) document.getElementById("main").focus();
        old.remove();
      }
      let asked = 0;
      for (const one of head.questions) {
        const old = document.getElementById(`q-${one.id}`);
        if (!old) {
          questions.append(made(one.html));
          asked += 1;
        } else if (String(one.answered) !== old.dataset.answered && !old.contains(document.activeElement)) {
          old.replaceWith(made(one.html));
        }
      }
      document.getElementById("waits").hidden = open.size === 0;
      document.getElementById("counted").replaceChildren(made(head.counted));
      const state = document.querySelector("#status .state")?.textContent;
      // What is urgent is said at once, what only goes on every ten seconds.
      const urgent = asked > 0 || (stood !== null && state !== stood);
      stood = state;
      if (!urgent && (!fresh || Date.now() - saidAt < 10000)) return;
      const news = [];
      if (fresh) news.push(`${fresh} new event${fresh > 1 ? "s" : ""}`);
      if (asked) news.push(`${asked} new question${asked > 1 ? "s" : ""}`);
      announce([...news, state].join("; "));
      saidAt = Date.now();
      fresh = 0;
    };

    const stop = () => {
      if (source) source.close();
      source = null;
      clearTimeout(missing);
      missing = null;
    };

    const begin = () => {
      if (source || over) return;
      source = new EventSource(`${list.dataset.follow}?after=${encodeURIComponent(last)}`);
      source.addEventListener("moment", append);
      source.addEventListener("head", showHead);
      source.addEventListener("over", () => {
        over = true;
        stop();
        button.hidden = true;
        // A dialog in a section that is hidden would hold the page.
        document.getElementById("sure")?.close("no");
        const section = document.getElementById("say");
        if (section?.contains(document.activeElement)) document.getElementById("main").focus();
        if (section) section.hidden = true;
        announce("The run is over");
      });
      source.addEventListener("replaced", () => location.reload());
      source.addEventListener("open", reached);
      source.addEventListener("error", () => {
        if (source && source.readyState === EventSource.CONNECTING) unreached();
        // The browser tries again by itself, unless it was refused.
        if (source && source.readyState === EventSource.CLOSED) {
          stop();
          button.setAttribute("aria-pressed", "false");
          button.textContent = "Follow";
          lost.hidden = true;
          announce("The run is not followed any more");
        }
      });
    };

    button.addEventListener("click", () => {
      const follows = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(follows));
      button.textContent = follows ? "Following" : "Follow";
      if (follows) begin();
      else stop();
    });
    // A browser has few connections: a window that nobody sees needs none.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) stop();
      else if (button.getAttribute("aria-pressed") === "true") begin();
    });
    begin();
  }

  // Whether the inbox has changed.
  const inbox = document.getElementById("inbox");
  if (inbox) {
    const changed = document.getElementById("changed");
    const look = async () => {
      if (document.hidden) return;
      try {
        const response = await fetch(`${base}/inbox/state`, { credentials: "same-origin" });
        if (!response.ok) return;
        const now = await response.json();
        if (now.mark !== inbox.dataset.mark && changed.hidden) {
          changed.hidden = false;
          announce(`The inbox has changed: ${now.open} open`);
        }
      } catch {
        // It is asked again.
      }
    };
    setInterval(look, 5000);
  }

  // Keys, which can be switched off.
  const keys = document.getElementById("keys");
  const KEY = "adjutant-keys";
  const stored = () => {
    try {
      return localStorage.getItem(KEY) !== "off";
    } catch {
      return true;
    }
  };
  let takesKeys = stored();
  const showKeys = () => {
    if (!keys) return;
    keys.setAttribute("aria-pressed", String(takesKeys));
    keys.textContent = takesKeys ? "Keys on" : "Keys off";
  };
  showKeys();
  if (keys) {
    keys.addEventListener("click", () => {
      takesKeys = !takesKeys;
      showKeys();
      try {
        localStorage.setItem(KEY, takesKeys ? "on" : "off");
      } catch {
        // Then it is for this page alone.
      }
    });
  }

  const step = (by) => {
    const all = [...document.querySelectorAll("a.step, .moment, .question, .batch > li, .entries > li")];
    const stops = all.filter((stop) => stop.offsetParent !== null);
    if (stops.length === 0) return;
    const at = stops.findIndex((stop) => stop === document.activeElement || stop.contains(document.activeElement));
    const next = at < 0 ? (by > 0 ? 0 : stops.length - 1) : Math.min(Math.max(at + by, 0), stops.length - 1);
    stops[next].focus();
    stops[next].scrollIntoView({ block: "nearest" });
  };

  const PAGES = { r: "runs", i: "inbox", m: "memory", h: "history", p: "profile" };
  let goes = false;
  document.addEventListener("keydown", (event) => {
    if (!takesKeys || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest("input, textarea, select, dialog")) return;
    const went = goes;
    goes = false;
    if (went && PAGES[event.key]) {
      location.assign(`${base}/${PAGES[event.key]}`);
    } else if (event.key === "j" || event.key === "k") {
      step(event.key === "j" ? 1 : -1);
    } else if (event.key === "g") {
      goes = true;
    } else if (event.key === "/") {
      const first = document.querySelector(".filter input, .filter select");
      if (!first) return;
      event.preventDefault();
      first.focus();
    }
  });
})();
