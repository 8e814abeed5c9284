// Search in pages that are opened as files, where browsers refuse a worker: its script runs in a
// frame of the page. The theme looks for this name, and would load another's from the network.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      const load = (each) =>
        new Promise((done, failed) => {
          const page = this.frame.contentDocument;
          const script = Object.assign(page.createElement("script"), { src: each });
          script.onload = done;
          script.onerror = failed;
          page.body.append(script);
        });
      const begun = new Promise((done) => { this.frame.onload = done; });
      this.ready = begun.then(() => {
        Object.assign(this.frame.contentWindow, {
          postMessage: (data) => this.dispatchEvent(new MessageEvent("message", { data })),
          importScripts: (...urls) =>
            urls.reduce((before, each) => before.then(() => load(each)), Promise.resolve()),
        });
        return load(url);
      });
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.ready.then(() => {
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
